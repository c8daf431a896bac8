.PHONY: build run check test torture screenshots lint fuzz fmt bench

build: ; CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bursar ./cmd/bursar
run: ; go run ./cmd/bursar serve
# check is for every save: format, vet, and the tests that need neither PostgreSQL nor a browser.
check: ; @scripts/check
# test runs everything, once.
test: ; @scripts/install-test-tools && scripts/test
# torture repeats what test does a few times hundreds of times. It takes hours.
torture: ; @scripts/install-test-tools && scripts/torture
# screenshots writes a picture of every page of the console, in each width and colour scheme.
screenshots: ; @BURSAR_SCREENSHOTS="$(CURDIR)/screenshots" go test -count=1 ./internal/console ./internal/reference
lint: ; @scripts/lint
fmt: ; gofmt -w .
fuzz: ; @scripts/fuzz
bench: ; @cd bench && go build -o bench . && exec ./bench $(ARGS)
