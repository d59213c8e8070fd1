"""What tests of steps ahead have in common."""

ANNOTATION = "activescale.io/scale-ahead"
ASKS = {ANNOTATION: "true"}
# The rights that the component of the manifests adds.
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/activescale-scale-ahead"
# As long as policies look back, nothing is done for an HPA that is new.
WARM_SECONDS = 17
