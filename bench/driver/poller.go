package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// poller asks one question over and over on one kept TLS connection.
type poller struct {
	connection net.Conn
	in         *bufio.Reader
	request    []byte
	body       bytes.Buffer
}

// newPoller connects to the Custom Metrics API at address to ask for inbound_active_requests of
// `pod`, "*" for all with the label app=web.
func newPoller(address, pod string) (*poller, error) {
	connection, err := dialUntil(address, time.Now().Add(15*time.Second))
	if err != nil {
		return nil, err
	}
	path := "/apis/custom.metrics.k8s.io/v1beta2/namespaces/bench/pods/" + pod +
		"/inbound_active_requests"
	if pod == "*" {
		path += "?labelSelector=app%3Dweb"
	}
	return &poller{
		connection: connection,
		in:         bufio.NewReaderSize(connection, 64<<10),
		request: []byte("GET " + path + " HTTP/1.1\r\nHost: " + address +
			"\r\nAccept: application/json\r\n\r\n"),
	}, nil
}

func dialUntil(address string, deadline time.Time) (net.Conn, error) {
	// The certificate is made by the server at its start: there is nothing to check it with.
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}
	dialer := &net.Dialer{Timeout: time.Second}
	for {
		connection, err := tls.DialWithDialer(dialer, "tcp", address, config)
		if err == nil || time.Now().After(deadline) {
			return connection, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ask sends the request and returns the status and the body, which is valid until the next call.
func (p *poller) ask() (int, []byte, error) {
	p.connection.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := p.connection.Write(p.request); err != nil {
		return 0, nil, err
	}
	response, err := http.ReadResponse(p.in, nil)
	if err != nil {
		return 0, nil, err
	}
	p.body.Reset()
	_, err = io.Copy(&p.body, response.Body)
	return response.StatusCode, p.body.Bytes(), err
}

// values asks and returns what the answer says of each pod.
func (p *poller) values() (map[string]string, error) {
	status, body, err := p.ask()
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", status, body)
	}
	var list struct {
		Items []struct {
			DescribedObject struct{ Name string }
			Value           string
		}
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	result := make(map[string]string, len(list.Items))
	for _, item := range list.Items {
		result[item.DescribedObject.Name] = item.Value
	}
	return result, nil
}

// waitForValues polls until exactly the pods web-0 to web-<count-1> are served, with the value that
// want gives for each.
func (p *poller) waitForValues(count int, want func(index int) float64) error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		values, err := p.values()
		wrong := ""
		for index := range count {
			if value := fmt.Sprint(want(index)); values[podName(index)] != value {
				wrong = fmt.Sprintf("%s is %q, not %q", podName(index), values[podName(index)], value)
				break
			}
		}
		switch {
		case err == nil && wrong == "" && len(values) == count:
			return nil
		case time.Now().After(deadline) && err != nil:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("the API serves %d pods of %d (%s)", len(values), count, wrong)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (p *poller) close() { p.connection.Close() }
