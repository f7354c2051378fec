package frontier

// OpenOn is Open on another file system.
var OpenOn = open
