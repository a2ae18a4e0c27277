# naslm: `make demo` and `make check` do everything; `make help` lists the rest.

VERSION = 0.1.0
SOVERSION = 0
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
CC ?= cc
CFLAGS ?= -O2 -g
FLAVOUR ?= release
B = build/$(FLAVOUR)

# ---- packages (Debian names) ----
DEPS_BUILD = gcc libc6-dev pkg-config protobuf-c-compiler libprotobuf-c-dev libonnx-dev libhdf5-dev \
	libjansson-dev zlib1g-dev libmd-dev gnuplot-nox
DEPS_TEST = libcmocka-dev python3-onnx python3-h5py python3-pandas python3-tables python3-scipy \
	python3-torch libopenblas0-pthread hdf5-tools clang-format libonnx-testdata mandoc librsvg2-bin libnauty2-dev
missing = $(shell for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | \
	grep -q 'ok installed' || echo $$p; done)

# ---- sources: every room, wildcard; the program is search/main.c ----
ROOMS = spaces onnx results hw surrogate search
LIB_SRC := $(filter-out search/main.c,$(foreach r,$(ROOMS),$(wildcard $(r)/*.c $(r)/*/*.c)))
TEST_SRC := $(wildcard tests/test_*.c)
TEST_LIB_SRC := $(filter-out $(TEST_SRC) $(wildcard tests/fuzz_*.c tests/bench_*.c),$(wildcard tests/*.c))
EXAMPLE_SRC := $(wildcard examples/*.c)
BENCH_SRC := $(wildcard tests/bench_*.c)
PUBLIC_HEADERS := $(foreach r,$(ROOMS),$(wildcard $(r)/*.h $(r)/*/*.h))

PROTO_DIR ?= /usr/include/onnx
GEN = build/gen
LIB_OBJ = $(LIB_SRC:%.c=$(B)/%.o) $(B)/onnx.pb-c.o
TESTS = $(TEST_SRC:tests/%.c=$(B)/tests/%)
EXAMPLES = $(EXAMPLE_SRC:examples/%.c=$(B)/examples/%)
BENCHES = $(BENCH_SRC:tests/%.c=$(B)/tests/%)

PKGS = hdf5 jansson libprotobuf-c zlib
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS = $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lmd

WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
	-Wundef -Wformat=2 $(if $(WERROR),-Werror)
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DNAS_VERSION='"$(VERSION)"' -I. -I$(GEN) -fPIC -fopenmp \
	-ffp-contract=off -fno-math-errno -fno-trapping-math $(WARN) $(FLAVOUR_CFLAGS) $(PKG_CFLAGS) $(CPPFLAGS) $(CFLAGS)
ALL_LIBS = $(PKG_LIBS) -fopenmp -lm -ldl

ifeq ($(FLAVOUR),asan)
FLAVOUR_CFLAGS = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif

.PHONY: all demo train-shipped fuzz check check-long run-tests tests asan bench layers tidy format install uninstall \
	deps clean help need-build examples FORCE
.DELETE_ON_ERROR:

all: need-build $(B)/naslm $(B)/libnaslm.a $(B)/libnaslm.so $(B)/naslm.pc

help:
	@echo "make            the program and the libraries in build/release"
	@echo "make demo       install what is missing, build, run a search: front.h5 and front.svg"
	@echo "make check      install what is missing, build, run all tests (check-long: slow ones too)"
	@echo "make asan       all tests under the address and undefined-behaviour sanitizers"
	@echo "make fuzz       libFuzzer on every foreign input, FUZZ_SECONDS each (needs clang)"
	@echo "make bench      measure speed; make layers, tidy: style checks; make format: apply it"
	@echo "make install    to DESTDIR and PREFIX; uninstall, deps, clean"

need-build:
	@missing="$(call missing,$(DEPS_BUILD))"; if command -v dpkg-query >/dev/null && \
	[ -n "$$missing" ]; then echo "missing packages: $$missing (try: make deps)" >&2; exit 1; fi

SUDO = $(shell [ "$$(id -u)" = 0 ] || echo sudo)
define apt_install
	missing="$(call missing,$(1))"; if [ -n "$$missing" ]; then \
	echo "installing: $$missing"; $(SUDO) apt-get update -qq && \
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	$$missing >/dev/null; fi
endef

deps:
	@$(call apt_install,$(DEPS_BUILD) $(DEPS_TEST))

# ---- rules ----
$(GEN)/onnx.pb-c.c: $(PROTO_DIR)/onnx.proto
	@mkdir -p $(GEN)
	protoc-c --proto_path=$(PROTO_DIR) --c_out=$(GEN) $<
$(GEN)/onnx.pb-c.h: $(GEN)/onnx.pb-c.c ;

$(B)/onnx.pb-c.o: $(GEN)/onnx.pb-c.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -w -c -o $@ $<

$(B)/%.o: %.c | $(GEN)/onnx.pb-c.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libnaslm.a: $(LIB_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(B)/libnaslm.so: $(LIB_OBJ)
	printf '{ global: nas_*; local: *; };\n' > $(B)/naslm.map
	$(CC) -shared $(ALL_CFLAGS) $(LDFLAGS) -Wl,-soname,libnaslm.so.$(SOVERSION) \
	-Wl,--version-script=$(B)/naslm.map -o $@ $^ $(ALL_LIBS)

$(B)/naslm: $(B)/search/main.o $(B)/libnaslm.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

$(B)/tests/%: $(B)/tests/%.o $(TEST_LIB_SRC:%.c=$(B)/%.o) $(B)/libnaslm.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(ALL_LIBS)

$(B)/tests/test_nb101 $(B)/tests/test_small_spaces: ALL_LIBS += $(shell pkg-config --libs nauty 2>/dev/null)

$(B)/examples/%: $(B)/examples/%.o $(B)/libnaslm.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

# Depends on PREFIX, so it is made anew each time.
$(B)/naslm.pc: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$(INCLUDEDIR)/naslm' '' \
	'Name: naslm' 'Description: neural architecture search with a regression language model' \
	'Version: $(VERSION)' 'Requires.private: $(PKGS)' 'Libs: -L$${libdir} -lnaslm' \
	'Libs.private: -lmd -fopenmp -lm -ldl' 'Cflags: -I$${includedir}' > $@
FORCE:

.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(TEST_SRC:%.c=$(B)/%.d) $(TEST_LIB_SRC:%.c=$(B)/%.d) \
	$(EXAMPLE_SRC:%.c=$(B)/%.d) $(BENCH_SRC:%.c=$(B)/%.d) $(B)/search/main.d

# ---- tests ----
tests: $(TESTS) $(EXAMPLES)
examples: $(EXAMPLES)

run-tests: all tests
	NASLM=$(B)/naslm sh tests/run.sh $(B)

check:
	@$(call apt_install,$(DEPS_BUILD) $(DEPS_TEST))
	@$(MAKE) --no-print-directory WERROR=1 run-tests

check-long:
	@$(MAKE) --no-print-directory check NASLM_LONG=1

asan:
	@$(MAKE) --no-print-directory FLAVOUR=asan CFLAGS="-O1 -g" run-tests

bench: all $(BENCHES)
	@NASLM=$(B)/naslm sh tests/bench.sh $(B)

FUZZ_SECONDS ?= 60
fuzz: all tests
	@sh tests/fuzz.sh $(FUZZ_SECONDS)

layers:
	@sh tests/layers.sh $(ROOMS)

STYLED = $(wildcard $(foreach r,$(ROOMS) tests examples,$(r)/*.[ch] $(r)/*/*.[ch]))
tidy: layers
	clang-format --dry-run -Werror $(STYLED)

format:
	clang-format -i $(STYLED)

# ---- demo ----
demo:
	@$(call apt_install,$(DEPS_BUILD))
	@$(MAKE) --no-print-directory -s all
	@NASLM=$(B)/naslm sh examples/demo.sh

# ---- the model that is installed: hours on one core, goes on where it was stopped ----
train-shipped: all
	NASLM=$(B)/naslm sh surrogate/models/train.sh

# ---- install ----
install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(MANDIR)/man1
	install -m 755 $(B)/naslm $(DESTDIR)$(BINDIR)/naslm
	install -m 644 $(B)/libnaslm.a $(DESTDIR)$(LIBDIR)/libnaslm.a
	install -m 755 $(B)/libnaslm.so $(DESTDIR)$(LIBDIR)/libnaslm.so.$(VERSION)
	ln -sf libnaslm.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libnaslm.so.$(SOVERSION)
	ln -sf libnaslm.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libnaslm.so
	install -m 644 $(B)/naslm.pc $(DESTDIR)$(LIBDIR)/pkgconfig/naslm.pc
	install -m 644 search/naslm.1 $(DESTDIR)$(MANDIR)/man1/naslm.1
	for m in $(wildcard surrogate/models/*.safetensors); do \
	install -D -m 644 $$m $(DESTDIR)$(PREFIX)/share/naslm/$$(basename $$m); done
	for h in $(PUBLIC_HEADERS); do install -D -m 644 $$h $(DESTDIR)$(INCLUDEDIR)/naslm/$$h; done

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/naslm $(DESTDIR)$(LIBDIR)/libnaslm.a $(DESTDIR)$(LIBDIR)/libnaslm.so* \
	$(DESTDIR)$(LIBDIR)/pkgconfig/naslm.pc $(DESTDIR)$(MANDIR)/man1/naslm.1
	rm -rf $(DESTDIR)$(INCLUDEDIR)/naslm $(DESTDIR)$(PREFIX)/share/naslm

clean:
	rm -rf build
