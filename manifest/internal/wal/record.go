package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// The record types of etcd's walpb that a segment can begin with.
const (
	metadataType = 1
	crcType      = 4
)

// maxRecord bounds the records read here. A checksum record has some ten bytes,
// metadata some twenty.
const maxRecord = 4 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A record is one entry of the log: etcd's walpb.Record.
type record struct {
	kind uint64
	crc  uint32
	data []byte
}

var (
	errTruncated = errors.New("the first records are cut short")
	errEmpty     = errors.New("no record at all: the file is empty or zeroed")
)

// readIdentity reads the two records that begin a segment: the checksum with
// which its chain goes on, then the metadata.
func readIdentity(r io.Reader) (Identity, error) {
	head, err := readRecord(r)
	if err != nil {
		return Identity{}, err
	}
	if head.kind != crcType {
		return Identity{}, fmt.Errorf("the first record is of type %d, not a checksum", head.kind)
	}
	meta, err := readRecord(r)
	if errors.Is(err, errEmpty) {
		return Identity{}, errors.New("no metadata record")
	}
	if err != nil {
		return Identity{}, err
	}
	if meta.kind != metadataType {
		return Identity{}, fmt.Errorf("no metadata: the second record is of type %d", meta.kind)
	}
	if sum := crc32.Update(head.crc, castagnoli, meta.data); sum != meta.crc {
		return Identity{}, fmt.Errorf("the checksum of the metadata is %08x, its record says %08x", sum, meta.crc)
	}
	return parseMetadata(meta.data)
}

// readRecord reads one frame: eight bytes of length, the record, and the zeros
// that fill it up to a multiple of eight. A length of zero is where nothing was
// written yet: etcd allocates segments ahead.
func readRecord(r io.Reader) (record, error) {
	var header [8]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return record{}, shortRead(err, errEmpty)
	}
	size, padding := frameSize(binary.LittleEndian.Uint64(header[:]))
	if size == 0 {
		return record{}, errEmpty
	}
	if size > maxRecord {
		return record{}, fmt.Errorf("a first record of %d bytes cannot be right", size)
	}
	frame := make([]byte, size+padding)
	if _, err := io.ReadFull(r, frame); err != nil {
		return record{}, shortRead(err, errTruncated)
	}
	return parseRecord(frame[:size])
}

// shortRead says what the end of a file means: atEnd where nothing was left.
func shortRead(err, atEnd error) error {
	switch {
	case errors.Is(err, io.EOF):
		return atEnd
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errTruncated
	default:
		return err
	}
}

// frameSize splits a frame's length field. The lower 56 bits are the record's
// size; where the highest bit is set, the lowest three of the upper byte are
// the padding (logs older than padding have none).
func frameSize(field uint64) (size, padding uint64) {
	size = field &^ (0xff << 56)
	if field>>63 == 1 {
		padding = field >> 56 & 7
	}
	return size, padding
}

func parseRecord(b []byte) (record, error) {
	var rec record
	err := eachField(b, func(num protowire.Number, v uint64, data []byte) {
		switch num {
		case 1:
			rec.kind = v
		case 2:
			rec.crc = uint32(v)
		case 3:
			rec.data = data
		}
	})
	return rec, err
}

// parseMetadata reads etcd's etcdserverpb.Metadata. Neither ID is ever zero:
// etcd uses zero for "none".
func parseMetadata(b []byte) (Identity, error) {
	var id Identity
	err := eachField(b, func(num protowire.Number, v uint64, _ []byte) {
		switch num {
		case 1:
			id.MemberID = v
		case 2:
			id.ClusterID = v
		}
	})
	if err == nil && (id.MemberID == 0 || id.ClusterID == 0) {
		err = errors.New("the metadata names no member and cluster")
	}
	return id, err
}

// eachField gives f the fields of a protobuf message that holds numbers and
// bytes only, and skips others.
func eachField(b []byte, f func(num protowire.Number, v uint64, data []byte)) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return malformed(n)
		}
		b = b[n:]
		n = consume(b, num, typ, f)
		if n < 0 {
			return malformed(n)
		}
		b = b[n:]
	}
	return nil
}

func consume(b []byte, num protowire.Number, typ protowire.Type, f func(protowire.Number, uint64, []byte)) int {
	switch typ {
	case protowire.VarintType:
		v, n := protowire.ConsumeVarint(b)
		f(num, v, nil)
		return n
	case protowire.BytesType:
		data, n := protowire.ConsumeBytes(b)
		f(num, 0, data)
		return n
	default:
		return protowire.ConsumeFieldValue(num, typ, b)
	}
}

func malformed(n int) error {
	return fmt.Errorf("a first record is not what etcd writes: %w", protowire.ParseError(n))
}
