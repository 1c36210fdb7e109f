package etcdtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Prepare builds the servers of these releases in the background, for a TestMain:
// a machine that has none of them builds while the tests that need none run, and
// says so on standard error. Tests that need one wait for it, and it is they that
// fail if it cannot be built. The returned function ends what is still being built.
func Prepare(versions ...string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, v := range versions {
			if built(v) || ctx.Err() != nil {
				continue
			}
			fmt.Fprintf(os.Stderr, "etcdtest: building etcd %s, once for this machine; tests that need it wait\n", v)
			_, _ = build(ctx, v)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// built says whether the server is in the cache already.
func built(version string) bool {
	r := recipe{version: version}
	dir, err := r.cacheDir()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, r.name()))
	return err == nil
}
