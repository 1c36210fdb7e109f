package manifest

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// boltFile is a bbolt file of pages of 1 KiB: two metas and a root page that
// names one bucket, or as many as count says.
func boltFile(tb testing.TB, root boltPage, bucket string) []byte {
	tb.Helper()
	var b bytes.Buffer
	for tx := range uint64(2) {
		put(tb, &b, boltPage{ID: tx, Flags: 4}, summed(tb, boltMeta{
			Magic: boltMagic, Version: boltVersion, PageSize: 1024, Root: 2, HighWater: 3, TxID: tx,
		}))
		b.Write(make([]byte, 1024-b.Len()%1024))
	}
	put(tb, &b, root, boltLeaf{Pos: 16, KeySize: uint32(len(bucket))}, []byte(bucket))
	b.Write(make([]byte, 1024-b.Len()%1024))
	return b.Bytes()
}

func put(tb testing.TB, b *bytes.Buffer, values ...any) {
	tb.Helper()
	for _, v := range values {
		require.NoError(tb, binary.Write(b, binary.NativeEndian, v))
	}
}

func summed(tb testing.TB, m boltMeta) boltMeta {
	tb.Helper()
	var b bytes.Buffer
	put(tb, &b, m)
	sum := fnv.New64a()
	sum.Write(b.Bytes()[:boltSummed])
	m.Checksum = sum.Sum64()
	return m
}

func TestBuckets(t *testing.T) {
	leaf := func(count uint16) boltPage { return boltPage{ID: 2, Flags: boltLeafPage, Count: count} }
	for name, tc := range map[string]struct {
		root   boltPage
		bucket string
		want   bool
	}{
		"no bucket, as 3.4 leaves it":      {leaf(0), "", false},
		"only meta, as 3.5 and later":      {leaf(1), "meta", false},
		"one other":                        {leaf(1), "key", true},
		"several":                          {leaf(10), "alarm", true},
		"so many that the page is a split": {boltPage{ID: 2, Flags: 1, Count: 2}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := hasBuckets(bytes.NewReader(boltFile(t, tc.root, tc.bucket)))
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

// The other meta counts where one was not finished.
func TestDatabaseWithATornMeta(t *testing.T) {
	for name, want := range map[string]bool{"used-3.5.16.db.gz": true, "refused-3.5.16.db.gz": false} {
		for _, torn := range []int{0, 4096} {
			b := fixture(t, name)
			binary.NativeEndian.PutUint64(b[torn+64:], 1<<40) // its transaction
			got, err := hasBuckets(bytes.NewReader(b))
			require.NoError(t, err)
			assert.Equal(t, want, got, "%s, torn at %d", name, torn)
		}
	}
}

func TestNotADatabase(t *testing.T) {
	good := boltFile(t, boltPage{ID: 2, Flags: boltLeafPage, Count: 1}, "meta")
	moved := boltFile(t, boltPage{ID: 7, Flags: boltLeafPage, Count: 1}, "meta")
	for name, tc := range map[string]struct {
		file []byte
		want string
	}{
		"a byte":            {good[:1], "cut short"},
		"no root page":      {good[:2048], "cut short"},
		"half a bucket":     {good[:2048+20], "cut short"},
		"another root page": {moved, "another one"},
		"text":              {bytes.Repeat([]byte("text"), 4096), "does not begin as one"},
		"zeros":             {make([]byte, 1<<17), "does not begin as one"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hasBuckets(bytes.NewReader(tc.file))
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

// FuzzDatabase: whatever a file holds, reading it ends.
func FuzzDatabase(f *testing.F) {
	f.Add(boltFile(f, boltPage{ID: 2, Flags: boltLeafPage, Count: 1}, "meta"))
	f.Add(boltFile(f, boltPage{ID: 2, Flags: boltLeafPage, Count: 9}, "alarm"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if used, err := hasBuckets(bytes.NewReader(b)); err != nil {
			assert.False(t, used)
		}
	})
}
