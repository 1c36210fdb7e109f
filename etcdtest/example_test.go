package etcdtest_test

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// exampleT is what the examples have for the *testing.T of a test.
type exampleT struct {
	testing.TB
	ctx    context.Context
	cancel context.CancelFunc
	undo   []func()
	dirs   []string
}

// newT stands for the *testing.T of your test, which ends by itself.
func newT() *exampleT {
	ctx, cancel := context.WithCancel(context.Background())
	return &exampleT{ctx: ctx, cancel: cancel}
}

func (t *exampleT) end() {
	t.cancel()
	for i := len(t.undo) - 1; i >= 0; i-- {
		t.undo[i]()
	}
	for _, dir := range t.dirs {
		_ = os.RemoveAll(dir)
	}
}

func (t *exampleT) TempDir() string {
	dir, err := os.MkdirTemp("", "etcdtest-example-")
	if err != nil {
		t.Fatal(err)
	}
	t.dirs = append(t.dirs, dir)
	return dir
}

func (t *exampleT) Helper()                        {}
func (t *exampleT) Context() context.Context       { return t.ctx }
func (t *exampleT) Cleanup(f func())               { t.undo = append(t.undo, f) }
func (t *exampleT) Failed() bool                   { return false }
func (t *exampleT) Log(a ...any)                   { fmt.Println(a...) }
func (t *exampleT) Logf(format string, a ...any)   { fmt.Printf(format+"\n", a...) }
func (t *exampleT) Fatal(a ...any)                 { panic(fmt.Sprint(a...)) }
func (t *exampleT) Fatalf(f string, a ...any)      { panic(fmt.Sprintf(f, a...)) }
func (t *exampleT) Error(a ...any)                 { fmt.Println(a...) }
func (t *exampleT) Errorf(format string, a ...any) { fmt.Printf(format+"\n", a...) }
