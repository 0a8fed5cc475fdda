sluice_library(activator_io SOURCES io/front_gateway.cpp HEADERS io/front_gateway.h
  DEPS sluice::activator_core sluice::net)
