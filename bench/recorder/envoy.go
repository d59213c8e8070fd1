package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"
	"time"
)

//go:embed envoy.yaml.tmpl
var bootstrapText string

var bootstrapTemplate = template.Must(template.New("envoy.yaml").Parse(bootstrapText))

// bootstrap holds what differs between two Envoys under the recorder.
type bootstrap struct {
	FlushInterval time.Duration
	ListenerPort  int
	SinkPort      int
	BackendPort   int
	ExtraClusters []string
}

// startEnvoy runs the Envoy at binary with config b, its files in dir. The caller ends the process.
func startEnvoy(binary, dir string, b bootstrap) (*exec.Cmd, error) {
	path := filepath.Join(dir, "envoy.yaml")
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := bootstrapTemplate.Execute(file, b); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	log := filepath.Join(dir, "envoy.log")
	command := exec.Command(binary, "--concurrency", "1", "--disable-hot-restart",
		"--log-level", "warning", "--log-path", log, "-c", path)
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	return command, nil
}
