package main

import (
	"context"
	"math"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// statNames maps a metric to the Envoy gauge that carries it.
var statNames = map[string]string{
	"inbound_active_requests":  "http.inbound_0.0.0.0_8080;.downstream_rq_active",
	"outbound_active_requests": "http.outbound_0.0.0.0_9090;.downstream_rq_active",
	"active_connections":       "listener.0.0.0.0_8080.downstream_cx_active",
}

// A pod belongs to the workload that its label "app" names; the scale target has that name too.
type key struct{ namespace, name string }

// cluster follows pods and scale targets of the API server and runs one Envoy a pod.
// Safe for concurrent use.
type cluster struct {
	ctx   context.Context
	stats *pushStats
	pods  cache.SharedIndexInformer

	mu        sync.Mutex
	workloads map[key]*workload
	envoys    int // started so far; spreads the phases
}

func newCluster(ctx context.Context, client kubernetes.Interface) *cluster {
	c := &cluster{ctx: ctx, stats: &pushStats{}, workloads: map[key]*workload{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	c.pods = factory.Core().V1().Pods().Informer()
	follow(c.pods, c.onPod)
	follow(factory.Apps().V1().Deployments().Informer(), func(d *appsv1.Deployment, gone bool) {
		c.onScale(key{d.Namespace, d.Name}, d.Spec.Replicas, gone)
	})
	follow(factory.Apps().V1().StatefulSets().Informer(), func(s *appsv1.StatefulSet, gone bool) {
		c.onScale(key{s.Namespace, s.Name}, s.Spec.Replicas, gone)
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return c
}

// follow calls handle with each new state of an object; gone is true for the last one.
func follow[T any](informer cache.SharedIndexInformer, handle func(object T, gone bool)) {
	deliver := func(object any, gone bool) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		if typed, ok := object.(T); ok {
			handle(typed, gone)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { deliver(object, false) },
		UpdateFunc: func(_, object any) { deliver(object, false) },
		DeleteFunc: func(object any) { deliver(object, true) },
	})
	if err != nil {
		panic(err) // only a stopped informer refuses, and this one has not started
	}
}

func (c *cluster) workload(k key) *workload {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workloads[k] == nil {
		c.workloads[k] = newWorkload()
	}
	return c.workloads[k]
}

func (c *cluster) configure(k key, config Config) {
	w := c.workload(k)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.config = config
	w.timeline = nil
	w.record(time.Now())
}

func (c *cluster) setSteps(k key, steps []Step) {
	w := c.workload(k)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.config.Steps = steps
}

func (c *cluster) onScale(k key, replicas *int32, gone bool) {
	w := c.workload(k)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spec = 1
	if replicas != nil {
		w.spec = int(*replicas)
	}
	if gone {
		w.spec = 0
	}
	w.record(time.Now())
}

func (c *cluster) onPod(object *corev1.Pod, gone bool) {
	app := object.Labels["app"]
	if app == "" {
		return
	}
	w := c.workload(key{object.Namespace, app})
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[object.Name]
	if gone {
		w.remove(p)
		w.record(now)
		return
	}
	if p != nil && p.uid != object.UID {
		w.remove(p)
		p = nil
	}
	if p == nil {
		p = &pod{name: object.Name, uid: object.UID, muted: w.config.StartMuted,
			touched: map[string]bool{}}
		w.pods[object.Name] = p
	}
	p.leaving = object.DeletionTimestamp != nil
	switch ready := isReady(object); {
	case ready && p.readyAt.IsZero():
		p.readyAt = now
		delay := time.Duration(w.config.ServingDelaySeconds * float64(time.Second))
		time.AfterFunc(delay, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.record(time.Now())
		})
	case !ready:
		p.readyAt = time.Time{}
	}
	if object.Status.Phase == corev1.PodRunning && p.stop == nil && len(w.config.Sinks) > 0 {
		c.startEnvoy(w, p, object)
	}
	w.record(now)
}

// startEnvoy starts the sidecar of a pod. REQUIRES: w.mu is held.
func (c *cluster) startEnvoy(w *workload, p *pod, object *corev1.Pod) {
	ctx, stop := context.WithCancel(c.ctx)
	p.stop = stop
	c.mu.Lock()
	c.envoys++
	started := c.envoys
	// Multiples of the golden ratio spread the phases evenly, however many Envoys there are.
	_, fraction := math.Modf(float64(started) * 0.618033988749895)
	c.mu.Unlock()
	interval := time.Duration(w.config.FlushSeconds * float64(time.Second))
	e := &envoy{
		id: identity{Namespace: object.Namespace, Pod: object.Name, IP: object.Status.PodIP,
			App: object.Labels["app"], Labels: object.Labels},
		sinks:    w.config.Sinks,
		interval: interval,
		phase:    time.Duration(fraction * float64(interval)),
		flushAt:  func() time.Time { return w.flushAt(p) },
		stats:    c.stats,
		attempts: started,
		gauges:   func(now time.Time) map[string]int64 { return w.gauges(p, now) },
		muted:    func() bool { return w.isMuted(p) },
		silent:   func() bool { return false },
	}
	go e.run(ctx)
}

func isReady(object *corev1.Pod) bool {
	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// selected lists the names of the running pods that a selector means: what the oracle answers for.
func (c *cluster) selected(namespace string, selector labels.Selector) []*corev1.Pod {
	objects, err := c.pods.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		panic(err) // the informer is made with this index
	}
	var found []*corev1.Pod
	for _, object := range objects {
		p := object.(*corev1.Pod)
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil &&
			selector.Matches(labels.Set(p.Labels)) {
			found = append(found, p)
		}
	}
	return found
}
