# What programs say to each other as plain structs, and who of several replicas is spoken to.
sluice_library(messages CORE HEADERS messages/stat.h messages/activator_stream.h
  DEPS sluice::base sluice::time_core)
sluice_library(ring CORE SOURCES ring/hash_ring.cpp HEADERS ring/hash_ring.h DEPS sluice::base)
