package ship

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// DefaultEndpoint is the store where none is named.
const DefaultEndpoint = "https://s3.amazonaws.com"

// Store is a place in an S3-compatible store.
type Store struct {
	core     minio.Core
	endpoint string
	bucket   string
	prefix   string // of all keys, "" or with a slash at its end
}

// Open reads a place as s3://BUCKET/PREFIX, and the credentials of its store: the variables
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the files of AWS. endpoint is
// the address of the store, "" = DefaultEndpoint; region that of the bucket, "" asks the
// store. Nothing is asked yet.
func Open(place, endpoint, region string) (*Store, error) {
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "//") {
		return nil, errors.New("give a bucket and what names begin with, as s3://BUCKET/PREFIX")
	}
	if endpoint == "" {
		endpoint = DefaultEndpoint
	}
	at, err := url.Parse(endpoint)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || strings.Trim(at.Path, "/") != "" || at.User != nil || at.RawQuery != "" {
		return nil, errors.New("the address of the store: give one such as https://s3.example.org")
	}
	keys := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}})
	if v, err := keys.GetWithContext(nil); err != nil || v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, errors.New("the store needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or have them in the file of AWS (~/.aws/credentials, AWS_PROFILE)")
	}
	core, err := minio.NewCore(at.Host, &minio.Options{Creds: keys, Secure: at.Scheme == "https", Region: region, MaxRetries: 1})
	if err != nil {
		return nil, err
	}
	s := &Store{core: *core, endpoint: at.Scheme + "://" + at.Host, bucket: u.Host, prefix: strings.Trim(u.Path, "/")}
	if s.prefix != "" {
		s.prefix += "/"
	}
	return s, nil
}

// Region is that of the environment, "" for none.
func Region() string {
	if r := os.Getenv("AWS_REGION"); r != "" {
		return r
	}
	return os.Getenv("AWS_DEFAULT_REGION")
}

// Place is the name of what is below a name here, as Open reads it.
func (s *Store) Place(name string) string { return "s3://" + path.Join(s.bucket, s.prefix, name) }

// RefusedError says that the store answered, and does not do what it was asked: waiting does
// not help, the remedy may.
type RefusedError struct{ What, Remedy string }

func (e *RefusedError) Error() string { return e.What + ": " + e.Remedy }

// wrong says what an error of a request is, with what helps. What servers say is not shown, but
// for the code of an error.
func (s *Store) wrong(err error) error {
	if err == nil {
		return nil
	}
	answer := minio.ToErrorResponse(err)
	code := answer.Code
	if strings.ContainsFunc(code, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) || len(code) > 60 {
		code = ""
	}
	said := strings.TrimSpace(fmt.Sprint(answer.StatusCode, " ", code))
	refused := func(remedy string) error {
		return &RefusedError{fmt.Sprintf("the store at %s refuses (%s)", s.endpoint, said), remedy}
	}
	switch code {
	case minio.NoSuchBucket:
		return refused("there is no bucket " + s.bucket + ": make it, or name another one")
	case minio.AccessDenied, "AllAccessDisabled":
		return refused("the credentials may not read and write " + s.Place("") + ": allow it (s3:GetObject, s3:PutObject, and s3:ListBucket for waggle ship list and fetch), or take others")
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidSecurity":
		return refused("it does not know the credentials: look at AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case "ExpiredToken", "TokenRefreshRequired":
		return refused("the credentials are no longer valid: take new ones")
	case "RequestTimeTooSkewed":
		return refused("the clock of this machine is wrong: set it")
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "InvalidRegion", "IllegalLocationConstraintException":
		return refused("the bucket is in another region: set AWS_REGION")
	case "EntityTooLarge":
		return refused("it takes no file of that size in one request: give a smaller --ship-size; a file that is larger stays here")
	case "InvalidBucketName":
		return refused("there can be no bucket " + s.bucket + ": name another one")
	}
	switch {
	case answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("the store at %s fails (%s)", s.endpoint, said)
	case answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized:
		return refused("look at the credentials, and at what they may do")
	case answer.StatusCode != 0 && answer.StatusCode != http.StatusOK:
		return refused("look at the bucket and at the address of the store")
	}
	// The same trouble has the same text each time: without the ports of its connections.
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		err = errors.New("no such host")
	case errors.As(err, &dns):
		err = errors.New("its name cannot be looked up")
	case errors.As(err, &op):
		err = op.Err
	}
	return fmt.Errorf("the store at %s does not answer: %w", s.endpoint, err)
}

// checkFor is how long Check waits for an answer.
const checkFor = 20 * time.Second

// Check writes a small file, as one that ships will. An error that is a *RefusedError stays one
// however long one waits.
func (s *Store) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	const text = "An archive of waggle is copied here.\n"
	return s.put(ctx, "waggle.txt", strings.NewReader(text), int64(len(text)), sumOf([]byte(text)))
}

// key is that of a file below the place.
func (s *Store) key(name string) string { return s.prefix + name }

// sumField is the name of the SHA-256 among what a store keeps with a file.
const sumField = "Sha256"

// put writes a file; the store compares its SHA-256, and is asked afterwards for what it has.
func (s *Store) put(ctx context.Context, name string, r readSeeker, size int64, sum string) error {
	_, err := s.core.PutObject(ctx, s.bucket, s.key(name), r, size, "", sum, minio.PutObjectOptions{
		ContentType: "application/octet-stream", UserMetadata: map[string]string{sumField: sum}, DisableContentSha256: true, // as it is given
	})
	if err != nil {
		return s.wrong(err)
	}
	has, gotSum, err := s.look(ctx, name)
	if err == nil && (has != size || gotSum != sum) {
		err = fmt.Errorf("the store at %s has %d bytes of %s and not %d, or others", s.endpoint, has, name, size)
	}
	return err
}

// look asks for the size of a file and its SHA-256.
func (s *Store) look(ctx context.Context, name string) (size int64, sum string, err error) {
	info, err := s.core.StatObject(ctx, s.bucket, s.key(name), minio.StatObjectOptions{})
	if err != nil {
		return 0, "", s.wrong(err)
	}
	return info.Size, info.UserMetadata[sumField], nil
}
