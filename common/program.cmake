# What every service does as a program.
sluice_library(command_line SOURCES program/command_line.cpp HEADERS program/command_line.h
  PRIVATE_DEPS CLI11::CLI11)
sluice_library(end_signals SOURCES program/end_signals.cpp HEADERS program/end_signals.h
  DEPS Boost::headers Threads::Threads)
