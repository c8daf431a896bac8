package client

import (
	"context"
	"iter"

	"bursar/api"
)

// MachineClientService manages the machine clients of a workspace.
type MachineClientService struct{ c *Client }

// List reads the machine clients of a workspace, without their secrets.
func (s *MachineClientService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[MachineClient], error) {
	return list(ctx, s.c, api.ListClients, p.query(), workspaceID)
}

// All iterates over the machine clients of a workspace.
func (s *MachineClientService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[MachineClient, error] {
	return all(ctx, s.c, api.ListClients, p.query(), workspaceID)
}

// Rotate gives a machine client a new secret, which only the result contains. The old secret and its sessions end at once.
func (s *MachineClientService) Rotate(ctx context.Context, workspaceID, id string) (*NewMachineClient, error) {
	return run(ctx, s.c, api.RotateClient, workspaceID, id)
}
