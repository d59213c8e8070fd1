// Package capture reads and writes files of recorded StreamMetrics messages.
//
// A capture is the messages of one stream in order, each as a 32-bit little-endian length followed
// by that many bytes of protobuf. The first message carries the node identifier.
package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxMessageBytes bounds what Read allocates for one message of a damaged file.
const maxMessageBytes = 64 << 20

// Write stores messages at path, replacing the file only when all of them are written.
func Write(path string, messages [][]byte) (err error) {
	partial := path + ".partial"
	file, err := os.Create(partial)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(partial)
		}
	}()
	out := bufio.NewWriter(file)
	for _, message := range messages {
		var length [4]byte
		binary.LittleEndian.PutUint32(length[:], uint32(len(message)))
		out.Write(length[:])
		out.Write(message)
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

// Read returns all messages of the capture at path.
func Read(path string) ([][]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := bufio.NewReader(file)
	var messages [][]byte
	for {
		var length [4]byte
		if _, err := io.ReadFull(in, length[:]); err == io.EOF {
			return messages, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: message %d: %w", path, len(messages), err)
		}
		size := binary.LittleEndian.Uint32(length[:])
		if size > maxMessageBytes {
			return nil, fmt.Errorf("%s: message %d claims %d bytes", path, len(messages), size)
		}
		message := make([]byte, size)
		if _, err := io.ReadFull(in, message); err != nil {
			return nil, fmt.Errorf("%s: message %d: %w", path, len(messages), err)
		}
		messages = append(messages, message)
	}
}
