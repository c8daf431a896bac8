package browsertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// DownloadBy runs a function that makes the browser download a file, and returns the
// suggested name of the file and its content.
func (p *Page) DownloadBy(act func()) (name string, data []byte) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, p.limit)
	defer cancel()
	session := chromedp.FromContext(p.ctx).Browser
	begun := cdp.Events(ctx, session, browser.DownloadWillBegin)
	progress := cdp.Events(ctx, session, browser.DownloadProgress)
	act()
	var file browser.EventDownloadWillBegin
	for event, err := range begun {
		if err != nil {
			p.fail("wait for a download", err)
		}
		if event.FrameID == p.frame {
			file = event
			break
		}
	}
	for event, err := range progress {
		if err == nil && event.GUID == file.GUID && event.State == browser.DownloadProgressStateCanceled {
			err = errors.New("it was cancelled")
		}
		if err != nil {
			p.fail("download "+file.URL, err)
		}
		if event.GUID == file.GUID && event.State == browser.DownloadProgressStateCompleted {
			break
		}
	}
	data, err := os.ReadFile(filepath.Join(p.downloads, file.GUID))
	if err != nil {
		p.fail("read the download", err)
	}
	return file.SuggestedFilename, data
}
