package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
)

// What a bbolt file begins with: two pages with a meta each, of which the newer
// whole one counts, and somewhere the page with the names of the buckets. All
// numbers are in the byte order of the machine.
type (
	boltMeta struct {
		Magic, Version, PageSize, Flags           uint32
		Root, Sequence, Freelist, HighWater, TxID uint64
		Checksum                                  uint64
	}
	boltPage struct {
		ID           uint64
		Flags, Count uint16
		Overflow     uint32
	}
	boltLeaf struct {
		Flags, Pos, KeySize, ValueSize uint32
	}
)

const (
	boltMagic    = 0xED0CDAED
	boltVersion  = 2
	boltLeafPage = 2
	boltMaxPage  = 64 << 10 // bytes
	boltPageHead = 16       // bytes of a boltPage
	boltSummed   = 56       // bytes of a boltMeta that its checksum covers
)

// usedDatabase reports whether the database at path ever belonged to a running
// server. A start that was refused leaves a database with no bucket (3.4) or
// with an empty bucket "meta" (3.5 and later); a server that got further makes
// about ten. A database that is missing or has no byte yet was not used.
func usedDatabase(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return false, err
	}
	used, err := hasBuckets(f)
	if err != nil {
		return false, fmt.Errorf("%s: not a database of etcd's: %w", path, err)
	}
	return used, nil
}

// hasBuckets reports whether there is any bucket besides "meta".
func hasBuckets(r io.ReaderAt) (bool, error) {
	meta, err := newestMeta(r)
	if err != nil {
		return false, err
	}
	at := int64(meta.Root) * int64(meta.PageSize)
	var root boltPage
	if err := readAt(r, at, &root); err != nil {
		return false, err
	}
	if root.ID != meta.Root {
		return false, errors.New("the page of its buckets is another one")
	}
	if root.Flags != boltLeafPage || root.Count > 1 {
		return true, nil
	}
	if root.Count == 0 {
		return false, nil
	}
	name, err := firstKey(r, at+boltPageHead)
	return err == nil && name != "meta", err
}

func firstKey(r io.ReaderAt, at int64) (string, error) {
	var leaf boltLeaf
	if err := readAt(r, at, &leaf); err != nil {
		return "", err
	}
	key := make([]byte, min(leaf.KeySize, boltMaxPage))
	err := readAt(r, at+int64(leaf.Pos), key)
	return string(key), err
}

// newestMeta finds the meta that counts. The second one lies at the size of a
// page, which only a meta tells: so all sizes are tried, as bbolt does.
func newestMeta(r io.ReaderAt) (boltMeta, error) {
	newest, err := metaAt(r, 0)
	for size := int64(1 << 10); size <= boltMaxPage; size <<= 1 {
		m, e := metaAt(r, size)
		if e == nil && int64(m.PageSize) == size && (err != nil || m.TxID > newest.TxID) {
			newest, err = m, nil
		}
	}
	return newest, err
}

func metaAt(r io.ReaderAt, page int64) (boltMeta, error) {
	var m boltMeta
	if err := readAt(r, page+boltPageHead, &m); err != nil {
		return m, err
	}
	sum := fnv.New64a()
	covered := io.NewSectionReader(r, page+boltPageHead, boltSummed)
	if _, err := io.Copy(sum, covered); err != nil {
		return m, err
	}
	if m.Magic != boltMagic || m.Version != boltVersion || m.Checksum != sum.Sum64() || m.PageSize > boltMaxPage {
		return m, errors.New("it does not begin as one")
	}
	return m, nil
}

func readAt(r io.ReaderAt, at int64, to any) error {
	if at < 0 {
		return errors.New("a page lies outside")
	}
	size := int64(binary.Size(to))
	err := binary.Read(io.NewSectionReader(r, at, size), binary.NativeEndian, to)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut short")
	}
	return err
}
