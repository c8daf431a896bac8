.PHONY: build run test lint fuzz fmt

build: ; CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bursar ./cmd/bursar
run: ; go run ./cmd/bursar serve
test: ; @scripts/install-test-tools && go test -race -timeout 20m ./...
lint: ; @scripts/lint
fmt: ; gofmt -w .
fuzz: ; @scripts/fuzz
