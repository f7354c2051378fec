package main

type (
	webBuildCmd struct{}
	webInfoCmd  struct{}
	webServeCmd struct{}
	webJobCmd   struct{}
)

func (webBuildCmd) Run() error                                   { return nil }
func (webInfoCmd) Run() error                                    { return nil }
func (webServeCmd) Run() error                                   { return nil }
func (webJobCmd) Run() error                                     { return nil }
func debianSite(any, string, func(string, ...any)) (site, error) { return site{}, nil }
