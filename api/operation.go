package api

import (
	"reflect"
	"slices"
	"strings"
)

// Op is one operation of the API: its name, its method, its path, the type In of the body of its request, and the type Out of the `data` of
// its response. The server routes it, the client calls it, and the contract describes it.
type Op[In, Out any] struct{ name, method, path string }

// None is the body of a request that has none.
type None struct{}

// File is a body that is not JSON: a file of any length.
type File struct{}

// Page is the data of a response that is one page of a list.
type Page[T any] []T

// Operation is an [Op] of any types.
type Operation interface {
	// Name returns the operationId of the contract.
	Name() string
	Method() string
	// Path returns the path with its parameters, such as /v1/directory/{id}.
	Path() string
	// Types returns the types of the body and of the data of the response.
	Types() (in, out reflect.Type)
	// String returns the method and the path.
	String() string
}

func (o Op[In, Out]) Name() string   { return o.name }
func (o Op[In, Out]) Method() string { return o.method }
func (o Op[In, Out]) Path() string   { return o.path }
func (o Op[In, Out]) String() string { return o.method + " " + o.path }

func (o Op[In, Out]) Types() (in, out reflect.Type) {
	return reflect.TypeFor[In](), reflect.TypeFor[Out]()
}

// ofFile returns an operation as it is with a file for its body.
func ofFile[Out, In, Single any](o Op[In, Single]) Op[File, Out] { return Op[File, Out](o) }

var operations []Operation

// op declares an operation by its name and its route, such as "GET /v1/directory/{id}".
func op[In, Out any](name, route string) Op[In, Out] {
	method, path, _ := strings.Cut(route, " ")
	o := Op[In, Out]{name, method, path}
	operations = append(operations, o)
	return o
}

// Operations returns all operations of the API.
func Operations() []Operation { return slices.Clone(operations) }
