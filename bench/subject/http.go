package subject

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// call reads the answer to one request, outside of what is measured.
func call(ctx context.Context, method, address string, header map[string]string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err // it names the method and the address
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.200s", method, address, response.Status, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	return nil
}
