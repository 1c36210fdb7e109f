package wal

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// A log encodes records as etcd does: a chain of checksums, frames filled up
// to multiples of eight.
type log struct {
	bytes.Buffer
	sum uint32
}

func (l *log) add(kind uint64, data []byte) *log {
	l.sum = crc32.Update(l.sum, castagnoli, data)
	rec := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), kind)
	rec = protowire.AppendVarint(protowire.AppendTag(rec, 2, protowire.VarintType), uint64(l.sum))
	if data != nil {
		rec = protowire.AppendBytes(protowire.AppendTag(rec, 3, protowire.BytesType), data)
	}
	return l.frame(rec)
}

func (l *log) frame(rec []byte) *log {
	field, padding := uint64(len(rec)), (8-len(rec)%8)%8
	if padding > 0 {
		field |= uint64(0x80|padding) << 56
	}
	l.Write(binary.LittleEndian.AppendUint64(nil, field))
	l.Write(rec)
	l.Write(make([]byte, padding))
	return l
}

func metadata(id Identity) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), id.MemberID)
	return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), id.ClusterID)
}

var whose = Identity{ClusterID: 0xcdf818194e3a8c32, MemberID: 0x8e9e05c52164694d}

// segment is a whole first segment; one that goes on a chain begins with its sum.
func segment(sum uint32) []byte {
	l := &log{sum: sum}
	l.add(crcType, nil).add(metadataType, metadata(whose))
	return l.add(5, nil).add(2, []byte("an entry")).Bytes()
}

func TestIdentityIsInTheFirstRecords(t *testing.T) {
	whole := segment(0)
	for name, b := range map[string][]byte{
		"a new log":                       whole,
		"a log whose beginning is purged": segment(0xdeadbeef),
		"a preallocated tail":             append(bytes.Clone(whole), make([]byte, 1<<16)...),
		"a torn last record":              whole[:len(whole)-3],
		"nothing behind the metadata":     (&log{}).add(crcType, nil).add(metadataType, metadata(whose)).Bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readIdentity(bytes.NewReader(b))
			require.NoError(t, err)
			assert.Equal(t, whose, got)
		})
	}
}

func TestDamageIsNamed(t *testing.T) {
	whole, head := segment(0), (&log{}).add(crcType, nil).Bytes()
	flipped := bytes.Clone(whole)
	flipped[len(head)+20] ^= 1
	for name, tc := range map[string]struct {
		log  []byte
		want string
	}{
		"no byte":                   {nil, "empty or zeroed"},
		"zeros only":                {make([]byte, 4096), "empty or zeroed"},
		"half a length":             {whole[:5], "cut short"},
		"half a checksum record":    {whole[:10], "cut short"},
		"no second record":          {head, "no metadata record"},
		"zeros for a second record": {append(bytes.Clone(head), make([]byte, 64)...), "no metadata record"},
		"half the metadata":         {whole[:len(head)+12], "cut short"},
		"a bit flipped":             {flipped, "the checksum of the metadata is"},
		"text":                      {[]byte("this is a text file, no log"), "bytes cannot be right"},
		"a length with zeros":       {append([]byte{64}, make([]byte, 128)...), "not what etcd writes"},
		"not a checksum first":      {(&log{}).add(2, []byte("x")).Bytes(), "the first record is of type 2"},
		"not metadata second":       {(&log{}).add(crcType, nil).add(2, nil).Bytes(), "the second record is of type 2"},
		"no IDs":                    {(&log{}).add(crcType, nil).add(metadataType, nil).Bytes(), "names no member"},
		"no cluster":                {(&log{}).add(crcType, nil).add(metadataType, metadata(Identity{MemberID: 1})).Bytes(), "names no member"},
		"metadata that is no message": {
			(&log{}).add(crcType, nil).add(metadataType, []byte{0xff}).Bytes(), "not what etcd writes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readIdentity(bytes.NewReader(tc.log))
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

// Logs from before padding was introduced carry only a length.
func TestUnpaddedFrame(t *testing.T) {
	size, padding := frameSize(10)
	assert.Equal(t, []uint64{10, 0}, []uint64{size, padding})
	size, padding = frameSize(0x86<<56 | 10)
	assert.Equal(t, []uint64{10, 6}, []uint64{size, padding})
}

// The fixture is the beginning of a segment that etcd 3.5.16 wrote; the IDs
// are those that the server reported.
func TestRealLog(t *testing.T) {
	f, err := os.Open("testdata/3.5.16.wal.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)

	dir := t.TempDir()
	write(t, dir, "0000000000000000-0000000000000000.wal", b)
	got, err := Identify(dir)
	require.NoError(t, err)
	assert.Equal(t, Identity{ClusterID: 0xb4ce6e602f8448d7, MemberID: 0x52aebec6caecf5dc}, got)
}

func TestTheOldestSegmentCounts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "000000000000000a-0000000000001f00.wal", segment(7))
	write(t, dir, "000000000000000b-0000000000002f00.wal", []byte("the damage of a later segment is the server's to find"))
	write(t, dir, "1.tmp", make([]byte, 8))
	write(t, dir, "000000000000000b-0000000000002f00.wal.broken", nil)
	got, err := Identify(dir)
	require.NoError(t, err)
	assert.Equal(t, whose, got)
}

func TestExistByEtcdsRule(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		want  bool
	}{
		"nothing":                {nil, false},
		"allocated ahead":        {[]string{"0.tmp"}, false},
		"a segment":              {[]string{"0000000000000000-0000000000000000.wal"}, true},
		"any name with the end":  {[]string{"old.wal"}, true},
		"a broken one kept back": {[]string{"0000000000000000-0000000000000000.wal.broken"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range tc.files {
				write(t, dir, f, nil)
			}
			got, err := Exist(dir)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestNoDirectoryIsNoLog(t *testing.T) {
	got, err := Exist(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)
	assert.False(t, got)
}

func TestIdentifyNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "old.wal", nil)
	_, err := Identify(dir)
	require.ErrorContains(t, err, dir+": no file has the name of a segment")

	write(t, dir, "0000000000000000-0000000000000000.wal", nil)
	_, err = Identify(dir)
	require.ErrorContains(t, err, "0000000000000000-0000000000000000.wal: no record at all")
}

func TestNotADirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", nil)
	_, err := Exist(filepath.Join(dir, "file"))
	require.Error(t, err)
	_, err = Identify(filepath.Join(dir, "file"))
	require.Error(t, err)
}

func write(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
}

// FuzzIdentity: whatever a file holds, reading it ends in an identity that a
// log of ours can carry, or in an error.
func FuzzIdentity(f *testing.F) {
	f.Add(segment(0))
	f.Add(segment(0xffffffff))
	f.Add(segment(0)[:20])
	f.Add([]byte{64, 0, 0, 0, 0, 0, 0, 0x81})
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := readIdentity(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := readIdentity((&log{}).add(crcType, nil).add(metadataType, metadata(id)))
		require.NoError(t, err)
		assert.Equal(t, id, again)
	})
}

// FuzzTruncation: a log cut anywhere before its metadata ends is damaged, cut
// anywhere behind it is whose it was.
func FuzzTruncation(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint32(0), uint16(9))
	f.Fuzz(func(t *testing.T, cluster, member uint64, sum uint32, cut uint16) {
		if cluster == 0 || member == 0 {
			return
		}
		want := Identity{ClusterID: cluster, MemberID: member}
		l := &log{sum: sum}
		end := l.add(crcType, nil).add(metadataType, metadata(want)).Len()
		b := l.add(2, []byte("an entry")).Bytes()
		n := min(int(cut), len(b))
		got, err := readIdentity(bytes.NewReader(b[:n]))
		if n < end {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, want, got)
	})
}
