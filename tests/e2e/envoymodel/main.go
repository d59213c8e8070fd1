// Envoymodel stands for the sidecars of modelled workloads: it follows the pods of a real API
// server, shares a load between those that serve, and pushes what each has in flight over gRPC as
// Envoy does. It can also answer the HPA itself (the oracle), and it keeps the timelines that the
// scenarios are measured by.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the API server to follow")
	controlAddress := flag.String("control", "127.0.0.1:0", "address of the control interface")
	oracleAddress := flag.String("oracle", "127.0.0.1:0", "address of the oracle (HTTPS)")
	cert := flag.String("oracle-cert", "", "serving certificate of the oracle")
	privateKey := flag.String("oracle-key", "", "its key")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, *kubeconfig, *controlAddress, *oracleAddress, *cert, *privateKey); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, kubeconfig, controlAddress, oracleAddress, cert, privateKey string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading --kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	o := &oracle{cluster: newCluster(ctx, client)}
	c := &control{cluster: o.cluster, oracle: o, single: map[string]*singleEnvoy{}}
	failed := make(chan error, 2)
	oracleListener, err := net.Listen("tcp", oracleAddress)
	if err != nil {
		return err
	}
	go func() { failed <- http.ServeTLS(oracleListener, o, cert, privateKey) }()
	controlListener, err := net.Listen("tcp", controlAddress)
	if err != nil {
		return err
	}
	go func() { failed <- http.Serve(controlListener, c.handler()) }()
	log.Printf("control on %s, oracle on %s", controlListener.Addr(), oracleListener.Addr())
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}
