package web_test

import (
	"fmt"

	"github.com/waggle-crawler/waggle/web"
)

func ExampleCanon_Resolve() {
	canon := web.Canon{StripSessions: true, StripTracking: true}
	base, err := canon.Parse("HTTP://me:secret@Www.Example.co.uk:80/docs/./intro;jsessionid=0A1B#top")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(base)
	for _, ref := range []string{`..\%7eann\My%20page?utm_source=x&id=7`, "//bücher.example", "mailto:ann@example.org"} {
		u, err := canon.Resolve(base, ref)
		fmt.Println(u, err)
	}
	fmt.Println(base.Host().Domain())
	// Output:
	// http://www.example.co.uk/docs/intro
	// http://www.example.co.uk/~ann/My%20page?id=7 <nil>
	// http://xn--bcher-kva.example/ <nil>
	//  address "mailto:ann@example.org": not an http or https address
	// example.co.uk
}
