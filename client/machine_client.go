package client

import (
	"context"
	"iter"
	"net/http"
)

// MachineClientService manages the machine clients of a workspace.
type MachineClientService struct{ c *Client }

// List reads the machine clients of a workspace, without their secrets.
func (s *MachineClientService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[MachineClient], error) {
	return list[MachineClient](ctx, s.c, p.query(), "/workspaces", workspaceID, "clients")
}

// All iterates over the machine clients of a workspace.
func (s *MachineClientService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[MachineClient, error] {
	return walk(p.Cursor, func(cursor string) (*Page[MachineClient], error) {
		return s.List(ctx, workspaceID, p.at(cursor))
	})
}

// Rotate gives a machine client a new secret, which only the result contains. The old secret and its sessions end at once.
func (s *MachineClientService) Rotate(ctx context.Context, workspaceID, id string) (*NewMachineClient, error) {
	return change[NewMachineClient](ctx, s.c, http.MethodPost, nil, "/workspaces", workspaceID, "clients", id, "rotate")
}
