package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAnswersHaveTheirLength(t *testing.T) {
	for _, length := range []int{0, 1, 2048, 100_000} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			t.Run(fmt.Sprint(method, " ", length), func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					(&Exchange{W: w, R: r}).send(http.StatusOK, bytes.Repeat([]byte("x"), length))
				}))
				defer server.Close()
				request, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := server.Client().Do(request)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				if answer.ContentLength != int64(length) {
					t.Errorf("its length is %d", answer.ContentLength)
				}
			})
		}
	}
}
