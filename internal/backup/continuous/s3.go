package continuous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is a Target in an S3-compatible object store.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

var errAddress = errors.New("the address of the backup must be s3://bucket/prefix; credentials come from the environment")

// openBucket reads the credentials where the AWS tools do: the environment,
// ~/.aws/credentials, and the role of the machine.
func openBucket(address string, env func(string) (string, bool)) (*bucket, error) {
	u, err := url.Parse(address)
	if err != nil || strings.Contains(address, "@") { // the error would repeat a possible secret
		return nil, errAddress
	}
	query := u.Query()
	for name := range query {
		if name != "endpoint" && name != "region" {
			return nil, fmt.Errorf("the address of the backup: %s is not known, only endpoint and region", name)
		}
	}
	if u.Host == "" {
		return nil, errAddress
	}
	endpoint, secure := query.Get("endpoint"), true
	if endpoint == "" {
		endpoint, _ = env("AWS_ENDPOINT_URL")
	}
	if endpoint == "" {
		endpoint = "https://s3.amazonaws.com"
	}
	if host, found := strings.CutPrefix(endpoint, "http://"); found {
		endpoint, secure = host, false
	}
	region := query.Get("region")
	if region == "" {
		region, _ = env("AWS_REGION")
	}
	client, err := minio.New(strings.TrimSuffix(strings.TrimPrefix(endpoint, "https://"), "/"), &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: secure, Region: region,
	})
	if err != nil {
		return nil, fmt.Errorf("the address of the backup: %w", err)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{client, u.Host, prefix}, nil
}

func (b *bucket) String() string { return "s3://" + b.name + "/" + b.prefix }

// partSize bounds the memory of one upload.
const partSize = 16 << 20

// Put implements Target.
func (b *bucket) Put(ctx context.Context, name string, from io.Reader, size int64) error {
	return b.put(ctx, name, from, size, nil)
}

// sumKey is the key of the SHA-256 in the metadata of an object, as the client returns it.
const sumKey = "Sha256"

// PutSummed implements Target.
func (b *bucket) PutSummed(ctx context.Context, name string, from io.Reader, size int64, sum string) error {
	return b.put(ctx, name, from, size, map[string]string{sumKey: sum})
}

func (b *bucket) put(ctx context.Context, name string, from io.Reader, size int64, metadata map[string]string) error {
	_, err := b.client.PutObject(ctx, b.name, b.prefix+name, from, size, minio.PutObjectOptions{PartSize: partSize, NumThreads: 1, UserMetadata: metadata})
	return err
}

// Sum implements Target.
func (b *bucket) Sum(ctx context.Context, name string) (string, error) {
	info, err := b.client.StatObject(ctx, b.name, b.prefix+name, minio.StatObjectOptions{})
	if err != nil {
		return "", missing(err)
	}
	return info.UserMetadata[sumKey], nil
}

// missing returns an error that is fs.ErrNotExist if the store has no such object.
func missing(err error) error {
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// Get implements Target.
func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	object, err := b.client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	if _, err := object.Stat(); err != nil { // which sends the request
		_ = object.Close()
		return nil, missing(err)
	}
	return object, nil
}

// List implements Target.
func (b *bucket) List(ctx context.Context, prefix string) (list []Object, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the client's listing
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, o.Err
		}
		list = append(list, Object{strings.TrimPrefix(o.Key, b.prefix), o.Size, o.LastModified})
	}
	return list, nil
}

// Delete implements Target.
func (b *bucket) Delete(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
}
