.PHONY: build run test lint fuzz fmt bench

build: ; CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bursar ./cmd/bursar
run: ; go run ./cmd/bursar serve
test: ; @scripts/install-test-tools && go test -race -timeout 20m ./... && cd bench && go test -race ./...
lint: ; @scripts/lint
fmt: ; gofmt -w .
fuzz: ; @scripts/fuzz
bench: ; @cd bench && go build -o bench . && exec ./bench $(ARGS)
