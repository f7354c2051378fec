package long

import "syscall"

// room is how many bytes can be written to a folder; 0 where it is none.
func room(dir string) uint64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || syscall.Access(dir, 2 /* W_OK */) != nil {
		return 0
	}
	return s.Bavail * uint64(s.Bsize)
}
