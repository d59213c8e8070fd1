package hpa

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	scalefake "k8s.io/client-go/scale/fake"
	core "k8s.io/client-go/testing"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"        // the target's kind for the mapper
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install" // the HPA's kind for the mapper
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/features"
)

const (
	namespace = "shop"
	name      = "web"
)

// world is what the controller sees through its clients at the present step.
type world struct {
	situation *Situation
	step      *Step
	start     time.Time
	replicas  int32
	client    *fake.Clientset
	reason    string
	rescaled  bool
}

// Run takes the situation through the controller inside a synctest bubble, whose clock jumps from
// sync to sync, and fills in every step's Result.
func Run(t *testing.T, s *Situation) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.HPAScaleToZero, s.ScaleToZero)
	ctx, cancel := context.WithCancel(t.Context())
	w := &world{situation: s, start: time.Now(), replicas: s.InitialReplicas}
	w.client = fake.NewSimpleClientset(w.hpa()) //nolint:staticcheck // NewClientset reads all schemas, 50 ms each
	w.client.PrependReactor("create", "events", w.onEvent)

	factory := informers.NewSharedInformerFactory(w.client, 0)
	controller := podautoscaler.NewHorizontalController(ctx, w.client.CoreV1(), w.scales(),
		w.client.AutoscalingV2(), testrestmapper.TestOnlyStaticRESTMapper(legacyscheme.Scheme), w,
		factory.Autoscaling().V2().HorizontalPodAutoscalers(), factory.Core().V1().Pods(),
		time.Duration(s.ResyncMs)*time.Millisecond, time.Duration(s.DownscaleMs)*time.Millisecond,
		0.1, 5*time.Minute, 30*time.Second)
	w.enter(t, ctx, 0)
	factory.Start(ctx.Done())
	go controller.Run(ctx, 1)
	synctest.Wait()
	for k := range s.Steps {
		if k > 0 {
			w.enter(t, ctx, k)
			synctest.Wait()
		}
		time.Sleep(time.Duration(s.ResyncMs) * time.Millisecond)
		synctest.Wait()
		w.read(t, ctx, k)
	}
	cancel()
	factory.Shutdown()
	time.Sleep(time.Minute)
}

// enter makes step k the world that the next sync sees.
func (w *world) enter(t *testing.T, ctx context.Context, k int) {
	w.step, w.reason, w.rescaled = &w.situation.Steps[k], "", false
	if w.step.SetReplicas >= 0 {
		w.replicas = w.step.SetReplicas
	}
	pods := w.client.CoreV1().Pods(namespace)
	if k > 0 {
		for _, old := range w.situation.Steps[k-1].Pods {
			if err := pods.Delete(ctx, old.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, pod := range w.step.Pods {
		if _, err := pods.Create(ctx, w.pod(pod), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// read takes the outcome of step k from the HPA's status.
func (w *world) read(t *testing.T, ctx context.Context, k int) {
	hpa, err := w.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := Result{Replicas: w.replicas, Rescaled: w.rescaled, Reason: w.reason}
	for _, condition := range hpa.Status.Conditions {
		switch condition.Type {
		case autoscalingv2.AbleToScale:
			r.Able = condition.Reason
		case autoscalingv2.ScalingActive:
			r.Active = condition.Reason
		case autoscalingv2.ScalingLimited:
			r.Limited = condition.Reason
		}
	}
	w.situation.Steps[k].Result = r
}

// onEvent keeps the class of the reason of a rescale.
func (w *world) onEvent(action core.Action) (bool, runtime.Object, error) {
	event := action.(core.CreateAction).GetObject().(*v1.Event)
	if event.Reason == "SuccessfulRescale" {
		_, reason, _ := strings.Cut(event.Message, "reason: ")
		if strings.HasSuffix(reason, "above target") {
			reason = "above target"
		}
		w.reason = reason
	}
	return true, event, nil
}

func (w *world) scales() *scalefake.FakeScaleClient {
	client := &scalefake.FakeScaleClient{}
	client.AddReactor("get", "deployments", func(core.Action) (bool, runtime.Object, error) {
		selector := "app=web"
		if w.step.NoSelector {
			selector = ""
		}
		return true, &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Spec:       autoscalingv1.ScaleSpec{Replicas: w.replicas},
			Status:     autoscalingv1.ScaleStatus{Replicas: w.step.StatusReplicas, Selector: selector},
		}, nil
	})
	client.AddReactor("update", "deployments", func(action core.Action) (bool, runtime.Object, error) {
		scale := action.(core.UpdateAction).GetObject().(*autoscalingv1.Scale)
		w.replicas, w.rescaled = scale.Spec.Replicas, true
		return true, scale, nil
	})
	return client
}

func (w *world) at(ms int64) metav1.Time {
	return metav1.NewTime(w.start.Add(time.Duration(ms) * time.Millisecond))
}

func (w *world) pod(p Pod) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: namespace, Labels: map[string]string{"app": "web"}},
		Status:     v1.PodStatus{Phase: v1.PodPhase(p.Phase)},
	}
	if p.Deleting {
		now := w.at(0)
		pod.DeletionTimestamp, pod.Finalizers = &now, []string{"activescale.test/keep"}
	}
	if p.Ready != "" {
		pod.Status.Conditions = []v1.PodCondition{{
			Type: v1.PodReady, Status: v1.ConditionStatus(p.Ready), LastTransitionTime: w.at(p.ReadyMs),
		}}
	}
	if p.StartMs != -1 {
		start := w.at(p.StartMs)
		pod.Status.StartTime = &start
	}
	container := v1.Container{Name: "app"}
	if p.Request >= 0 {
		container.Resources.Requests = v1.ResourceList{
			v1.ResourceCPU:    *resource.NewMilliQuantity(p.Request, resource.DecimalSI),
			v1.ResourceMemory: *resource.NewMilliQuantity(p.Request, resource.DecimalSI),
		}
	}
	pod.Spec.Containers = []v1.Container{container}
	return pod
}

func (w *world) hpa() *autoscalingv2.HorizontalPodAutoscaler {
	s := w.situation.Spec
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: name, APIVersion: "apps/v1"},
			MinReplicas:    &s.Min,
			MaxReplicas:    s.Max,
		},
	}
	for i, m := range s.Metrics {
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, metricSpec(i, m))
	}
	if s.Up != nil {
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rules(s.Up), ScaleDown: rules(s.Down)}
	}
	return hpa
}

// metricSpec carries the metric's index in the metric's name, so that an answer can be found;
// Resource metrics cannot, and are found by resource and target.
func metricSpec(index int, m Metric) autoscalingv2.MetricSpec {
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.MetricTargetType(m.TargetType)}
	value := resource.NewMilliQuantity(m.Target, resource.DecimalSI)
	percent := int32(m.Target)
	switch m.TargetType {
	case "Value":
		target.Value = value
	case "AverageValue":
		target.AverageValue = value
	case "Utilization":
		target.AverageUtilization = &percent
	}
	id := autoscalingv2.MetricIdentifier{Name: fmt.Sprintf("%s-%d", m.Name, index)}
	spec := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(m.Type)}
	switch m.Type {
	case "Pods":
		spec.Pods = &autoscalingv2.PodsMetricSource{Metric: id, Target: target}
	case "Object":
		ref := autoscalingv2.CrossVersionObjectReference{Kind: "Service", Name: name, APIVersion: "v1"}
		spec.Object = &autoscalingv2.ObjectMetricSource{DescribedObject: ref, Metric: id, Target: target}
	case "External":
		spec.External = &autoscalingv2.ExternalMetricSource{Metric: id, Target: target}
	case "Resource":
		spec.Resource = &autoscalingv2.ResourceMetricSource{Name: v1.ResourceName(m.Name), Target: target}
	}
	return spec
}

func rules(r *Rules) *autoscalingv2.HPAScalingRules {
	selectPolicy := autoscalingv2.ScalingPolicySelect(r.Select)
	out := &autoscalingv2.HPAScalingRules{SelectPolicy: &selectPolicy}
	if r.Window >= 0 {
		out.StabilizationWindowSeconds = &r.Window
	}
	if r.ToleranceMilli >= 0 {
		out.Tolerance = resource.NewMilliQuantity(r.ToleranceMilli, resource.DecimalSI)
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, autoscalingv2.HPAScalingPolicy{
			Type: autoscalingv2.HPAScalingPolicyType(p.Type), Value: p.Value, PeriodSeconds: p.Period,
		})
	}
	return out
}

var errNoMetric = errors.New("the metrics API has no such metric")

func (w *world) answer(metricName string) (*Answer, error) {
	var index int
	if _, err := fmt.Sscanf(metricName[strings.LastIndex(metricName, "-"):], "-%d", &index); err != nil {
		return nil, err
	}
	answer := &w.step.Answers[index]
	if answer.Error {
		return nil, errNoMetric
	}
	return answer, nil
}

func (w *world) samples(a *Answer) metrics.PodMetricsInfo {
	info := metrics.PodMetricsInfo{}
	for _, s := range a.Pods {
		info[s.Pod] = metrics.PodMetric{
			Timestamp: w.at(s.TimeMs).Time, Window: time.Duration(s.WindowMs) * time.Millisecond, Value: s.Value,
		}
	}
	return info
}

// GetResourceMetric implements metrics.MetricsClient. All metrics of one resource share the answer
// of the first: the controller's call does not say which entry it is for.
func (w *world) GetResourceMetric(_ context.Context, name v1.ResourceName, _ string, _ labels.Selector, _ string) (metrics.PodMetricsInfo, time.Time, error) {
	for i, m := range w.situation.Spec.Metrics {
		if m.Type == "Resource" && m.Name == string(name) {
			if w.step.Answers[i].Error {
				return nil, time.Time{}, errNoMetric
			}
			return w.samples(&w.step.Answers[i]), time.Now(), nil
		}
	}
	return nil, time.Time{}, errNoMetric
}

// GetRawMetric implements metrics.MetricsClient.
func (w *world) GetRawMetric(metricName string, _ string, _ labels.Selector, _ labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	a, err := w.answer(metricName)
	if err != nil {
		return nil, time.Time{}, err
	}
	return w.samples(a), time.Now(), nil
}

// GetObjectMetric implements metrics.MetricsClient.
func (w *world) GetObjectMetric(metricName string, _ string, _ *autoscalingv2.CrossVersionObjectReference, _ labels.Selector) (int64, time.Time, error) {
	a, err := w.answer(metricName)
	if err != nil {
		return 0, time.Time{}, err
	}
	return a.Values[0], time.Now(), nil
}

// GetExternalMetric implements metrics.MetricsClient.
func (w *world) GetExternalMetric(metricName string, _ string, _ labels.Selector) ([]int64, time.Time, error) {
	a, err := w.answer(metricName)
	if err != nil {
		return nil, time.Time{}, err
	}
	return a.Values, time.Now(), nil
}
