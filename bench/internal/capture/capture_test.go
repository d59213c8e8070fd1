package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestReadReturnsWhatWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.capture")
	want := [][]byte{[]byte("first"), {}, bytes.Repeat([]byte{7}, 100_000)}
	if err := Write(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("got %d messages, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("message %d differs", i)
		}
	}
}

func TestReadRefusesDamagedFiles(t *testing.T) {
	for name, content := range map[string][]byte{
		"cut length":  {1, 0},
		"cut message": {5, 0, 0, 0, 'a'},
		"huge length": {255, 255, 255, 255},
	} {
		path := filepath.Join(t.TempDir(), "x.capture")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
