package load

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

func TestAnswersAreReadToTheirEnd(t *testing.T) {
	const next = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	for name, c := range map[string]struct {
		text    string
		noBody  bool
		status  int
		excerpt string
	}{
		"length":           {text: "HTTP/1.1 200 OK\r\ncontent-length:  5\r\n\r\nHTTP/", status: 200},
		"nothing":          {text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", status: 200},
		"no reason":        {text: "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", status: 200},
		"bare line feeds":  {text: "HTTP/1.1 200 OK\nContent-Length: 2\n\nab", status: 200},
		"chunks":           {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\r\nc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", status: 200},
		"trailer":          {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nTrailer: X\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n", status: 200},
		"no content":       {text: "HTTP/1.1 204 No Content\r\nDate: now\r\n\r\n", status: 204},
		"not modified":     {text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", status: 304},
		"head":             {text: "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", noBody: true, status: 200},
		"hints first":      {text: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx", status: 201},
		"error":            {text: "HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\noops", status: 500, excerpt: "oops"},
		"error in chunks":  {text: "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\noo\r\n2\r\nps\r\n0\r\n\r\n", status: 500, excerpt: "oops"},
		"error at length":  {text: "HTTP/1.1 400 No\r\nContent-Length: 300\r\n\r\n" + strings.Repeat("e", 300), status: 400, excerpt: strings.Repeat("e", 200)},
		"more than buffer": {text: "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000), status: 200},
	} {
		in := bufio.NewReader(strings.NewReader(c.text + next))
		a, err := readAnswer(in, c.noBody)
		if err != nil || a.close || a.status != c.status || string(a.excerpt) != c.excerpt {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if rest, _ := io.ReadAll(in); string(rest) != next {
			t.Errorf("%s: %q is left to read", name, rest)
		}
	}
}

func TestAnswersThatEndTheConnection(t *testing.T) {
	for name, text := range map[string]string{
		"asked to":      "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nab",
		"old version":   "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab",
		"until the end": "HTTP/1.1 200 OK\r\n\r\nab",
	} {
		if a, err := readAnswer(bufio.NewReader(strings.NewReader(text)), false); err != nil || !a.close || a.status != 200 {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	const kept = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab"
	if a, err := readAnswer(bufio.NewReader(strings.NewReader(kept)), false); err != nil || a.close {
		t.Errorf("kept: %+v, %v", a, err)
	}
}

func TestBrokenAnswersAreErrors(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":          "",
		"no status line":   "hello\r\n\r\n",
		"no status":        "HTTP/1.1 abc OK\r\n\r\n",
		"cut in head":      "HTTP/1.1 200 OK\r\nContent-",
		"cut in body":      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
		"cut in chunk":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"cut at end":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
		"chunk too long":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
		"chunk of no size": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		"two lengths":      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"length below 0":   "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"too long a body":  "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
		"endless head":     "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 20_000),
		"endless line":     "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", 100_000),
		"endless trailer":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", 20_000),
		"other encoding":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
	} {
		if a, err := readAnswer(bufio.NewReader(strings.NewReader(text)), false); err == nil {
			t.Errorf("%s: taken for %+v", name, a)
		}
	}
}
