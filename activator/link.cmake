# The activator's side of the streams to the autoscaler, apart from gRPC.
sluice_library(autoscaler_link CORE
  HEADERS core/autoscaler_link.h
  SOURCES core/autoscaler_link.cpp
  DEPS    sluice::activator_core sluice::messages
  PRIVATE_DEPS sluice::ring)
