package manifest

import (
	"errors"
	"fmt"
	"io/fs"
)

// replaceFile cannot be one step here.
func replaceFile(ownFile) error {
	return fmt.Errorf("no file can be replaced in one step on Windows: %w", errors.ErrUnsupported)
}

func ours(fs.FileInfo) bool { return true }
