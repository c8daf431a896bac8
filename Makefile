.PHONY: build run check size test test-profile soak torture screenshots lint fuzz fmt bench

build: ; CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bursar ./cmd/bursar
run: ; go run ./cmd/bursar serve
# check is for every save: format, vet, and the tests without what takes longest (scripts/check names it).
check: ; @scripts/check
# size counts lines by room.
size: ; @scripts/size
# test runs everything, once. After an interruption it continues with what has not passed.
test: ; @scripts/install-test-tools && scripts/test
# test-profile runs everything and prints where the CPU time went; COLD=1 begins with an empty build cache. Linux, as root.
test-profile: ; @scripts/install-test-tools && scripts/test -profile
# soak runs each package 20 times beside two busy loops. It takes hours; ARGS are packages.
soak: ; @scripts/install-test-tools && scripts/soak $(ARGS)
# torture repeats what test does a few times hundreds of times. It takes hours.
torture: ; @scripts/install-test-tools && scripts/torture
# screenshots writes a picture of every page of the console, in each width and colour scheme.
screenshots: ; @BURSAR_SCREENSHOTS="$(CURDIR)/screenshots" go test -count=1 ./internal/console ./internal/reference
lint: ; @scripts/lint
fmt: ; gofmt -w .
fuzz: ; @scripts/fuzz
bench: ; @cd bench && go test ./... && go build -o bench . && exec ./bench $(ARGS)
