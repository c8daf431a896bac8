package console

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/identity"
)

// credentialPage is the form for an API key or a machine client.
type credentialPage struct {
	Roles []api.Role // roles that the visitor may grant to a machine client
	Scope scopeForm
}

// newClientPage offers the roles that the visitor may grant. A visitor who may not see the workspace's roles can still grant the built-in
// ones.
func (c *Console) newClientPage(v *visit) error {
	if err := v.need(access.KeysWrite); err != nil {
		return err
	}
	v.refill()
	v.preset("role", "viewer")
	var roles []api.Role
	if v.can(access.MembersRead) {
		var err error
		if roles, err = v.roles(); err != nil {
			return err
		}
	} else {
		for _, r := range access.BuiltInRoles() {
			roles = append(roles, api.Role{Key: r.Key, Name: r.Name, Color: r.Color, Permissions: r.Permissions.Names(), BuiltIn: true})
		}
	}
	data := credentialPage{Roles: v.grantable(roles), Scope: v.scopeForm(nil, v.held.OfMachine())}
	for i, r := range data.Roles {
		if set := permissionSet(r.Permissions); set != set.OfMachine() {
			// The summary of a built-in role describes what a person can do with it.
			data.Roles[i].Permissions, data.Roles[i].BuiltIn = set.OfMachine().Names(), false
		}
	}
	return v.show("keys_client", "New machine client", data)
}

func (c *Console) createClient(v *visit) error {
	v.addNeeds()
	made, err := submit(v, c.Clients.Create, identity.CreateClientInput{WorkspaceID: v.workspace.ID})
	if err != nil {
		return v.again(err, c.newClientPage)
	}
	return v.tellClient(made, `Machine client "`+made.Name+`" created.`)
}

// tellClient shows the secret of a machine client, once.
func (v *visit) tellClient(made api.NewMachineClient, text string) error {
	return v.redirectWith(flash{Kind: "good", Text: text, Secret: &secret{
		Label: "Secret of " + made.Name, Value: made.Secret,
		Note: "Its client ID is " + made.ID + ". Copy the secret now. It won't be shown again.",
	}}, v.path("keys")+"?made="+made.ID)
}

// clientInput returns the path parameters of a form's machine client.
func (v *visit) clientInput() identity.ClientInput {
	return identity.ClientInput{WorkspaceID: v.workspace.ID, ID: v.R.PathValue("id")}
}

func (c *Console) rotateClient(v *visit) error {
	next, err := change(v, c.Clients.Rotate, v.clientInput())
	if err != nil {
		return err
	}
	return v.tellClient(next, `Machine client "`+next.Name+`" has a new secret. The old secret has stopped working and its sessions have ended.`)
}

func (c *Console) revokeClient(v *visit) error {
	if _, err := change(v, c.Clients.Revoke, v.clientInput()); err != nil {
		return err
	}
	return v.done("Machine client revoked.", v.path("keys"))
}
