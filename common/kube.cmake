# The Kubernetes API: the kinds that we read, and a client that lists, watches and writes over TLS.
# The kinds are values, and reading one does no I/O, so cores may use them; the JSON library stays in
# the sources.
sluice_library(kube_objects
  SOURCES kube/json_read.cpp kube/network.cpp kube/pod.cpp kube/request_scaler.cpp kube/selector.cpp
    kube/time_text.cpp kube/workload.cpp
  HEADERS kube/object_name.h kube/objects.h kube/request_scaler.h kube/time_text.h
  DEPS sluice::time_core PRIVATE_DEPS sluice::json_depth nlohmann_json::nlohmann_json)
set_target_properties(sluice_kube_objects PROPERTIES SLUICE_CORE TRUE)
sluice_library(kube_core CORE
  SOURCES kube/base64.cpp kube/collection_text.cpp kube/json_walk.cpp kube/watch_event.cpp
    kube/watch_lines.cpp
  HEADERS kube/backoff.h kube/base64.h kube/collection_text.h kube/json_walk.h kube/token_bucket.h
    kube/watch_event.h kube/watch_lines.h
  DEPS sluice::kube_objects)
sluice_library(kube
  SOURCES kube/access.cpp kube/bearer.cpp kube/client.cpp kube/client_exchange.cpp
    kube/group_presence.cpp kube/kubeconfig.cpp kube/reflector.cpp kube/request_text.cpp
    kube/server_tls.cpp kube/wire.cpp
  HEADERS kube/access.h kube/bearer.h kube/client.h kube/client_inner.h kube/group_presence.h
    kube/informer.h kube/place.h kube/reflector.h kube/request_text.h kube/server_tls.h kube/wire.h
  DEPS sluice::kube_core sluice::kube_objects sluice::tls sluice::log sluice::settings
    sluice::clock Boost::headers
  PRIVATE_DEPS sluice::files sluice::openssl nlohmann_json::nlohmann_json yaml-cpp)
