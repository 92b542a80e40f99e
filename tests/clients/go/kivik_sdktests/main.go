// kivik's own tests of servers (kiviktest), with what they expect of CouchDB 3.3. install.sh compiles them with the
// address of this server in place of a container's.
package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"octavo.test/clients/report"
)

const root = "TestCouch33"

// It reads the feed of databases to its end, for a minute. The suite kivik reads that feed, too.
const left = root + "/DBUpdates/RW/Admin"

// What a test expects otherwise, or needs and does not find.
type deviation struct {
	note   string
	prints string // by the test
}

var (
	attachments = deviation{"there are no attachments (501)", "Not Implemented: Attachments are not supported yet"}
	replication = deviation{"the server does not replicate (501)", "501/Not Implemented: This server does not replicate yet"}
)

// By the name of a test, or of the tests that it is part of.
var notOffered = map[string]deviation{
	"DeleteAttachment/RW/Admin":            attachments,
	"DeleteAttachment/RW/NoAuth/DesignDoc": attachments,
	"DeleteAttachment/RW/NoAuth/NotFound":  attachments,
	"DeleteAttachment/RW/NoAuth/foo.txt":   attachments,
	"GetAttachment":                        attachments,
	"GetAttachmentMeta":                    attachments,
	"PutAttachment/RW/Admin":               attachments,
	"Replicate/RW/Admin":                   replication,
}

var differing = map[string]deviation{
	"DeleteAttachment/RW/Admin/NoDoc": {"deleting an attachment of a document that does not exist is 404; the test expects 409",
		"404/Not Found: missing"},
	"Explain/RW/Admin": {"plans are those of CouchDB 3.5", `"allow_fallback": true`},
	"Session/Post/GoodCredsJSONRedirSchemaless": {"`next` may not name another host (400)",
		"400/Bad Request: path must begin with a /"},
	"Session/Post/MeaninglessJSON": {"400; the test expects 500", "400/Bad Request: The member ok must be a string"},
	"Version":                      {"CouchDB 3.5, and another vendor", "Version '3.5.0' does not match"},
}

var (
	current = regexp.MustCompile(`^=== (?:RUN|CONT|NAME) +(\S+)`)
	ended   = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) `)
)

// test is a test without parts of its own, or one that fails although none of its parts does.
type test struct {
	name, verdict, output string
}

// parse reads the output of a run, in the order in which tests ended.
func parse(output string) []test {
	printed := map[string]string{}
	verdicts := map[string]string{}
	var names []string
	hasParts, hasFailedPart := map[string]bool{}, map[string]bool{}
	now := ""
	for _, line := range strings.Split(output, "\n") {
		if found := current.FindStringSubmatch(line); found != nil {
			now = found[1]
		} else if found := ended.FindStringSubmatch(line); found != nil {
			verdicts[found[2]] = found[1]
			names = append(names, found[2])
			for end := strings.LastIndex(found[2], "/"); end > 0; end = strings.LastIndex(found[2][:end], "/") {
				hasParts[found[2][:end]] = true
				hasFailedPart[found[2][:end]] = hasFailedPart[found[2][:end]] || found[1] == "FAIL"
			}
		} else {
			printed[now] += line + "\n"
		}
	}
	var tests []test
	for _, name := range names {
		if !hasParts[name] || (verdicts[name] == "FAIL" && !hasFailedPart[name]) {
			tests = append(tests, test{name, verdicts[name], printed[name]})
		}
	}
	return tests
}

// operation is the name without what is random in it: databases are named after the test.
func operation(name string) string {
	return regexp.MustCompile(`/kivik\$.*`).ReplaceAllString(strings.TrimPrefix(name, root+"/"), "")
}

// find looks for the operation, and for what it is part of.
func find(deviations map[string]deviation, operation string) (deviation, bool) {
	for end := len(operation); end > 0; end = strings.LastIndex(operation[:end], "/") {
		if found, ok := deviations[operation[:end]]; ok {
			return found, true
		}
	}
	return deviation{}, false
}

// The databases that CouchDB's set-up makes.
func create(address *url.URL, names ...string) error {
	for _, name := range names {
		request, err := http.NewRequest(http.MethodPut, address.JoinPath(name).String(), nil)
		if err != nil {
			return err
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		reply.Body.Close()
		if reply.StatusCode != http.StatusCreated && reply.StatusCode != http.StatusPreconditionFailed {
			return fmt.Errorf("creating %s: %s", name, reply.Status)
		}
	}
	return nil
}

func main() {
	address, err := url.Parse(os.Getenv("OCTAVO_COUCH_URL"))
	if err != nil {
		panic(err)
	}
	address.User = url.UserPassword(os.Getenv("OCTAVO_USER"), os.Getenv("OCTAVO_PASSWORD"))
	if err := create(address, "_users", "_replicator", "_global_changes"); err != nil {
		panic(err)
	}
	pattern := "^" + strings.ReplaceAll(left, "/", "$/^") + "$"
	command := exec.Command(os.Args[1], "-test.run", "^"+root+"$", "-test.skip", pattern, "-test.v")
	command.Env = append(os.Environ(), "OCTAVO_KIVIK_DSN="+address.String()+"/")
	output, _ := command.CombinedOutput()
	tests := parse(string(output))
	if len(tests) == 0 {
		panic(string(output))
	}

	s := report.Suite{Client: "kivik", Version: "4.5.2", API: "couch", Mode: "own tests"}
	for _, one := range tests {
		if one.verdict == "SKIP" || strings.HasSuffix(one.name, "/PreCleanup/Admin") {
			continue
		}
		name := operation(one.name)
		fails := func(as deviation) func(report.Test) {
			return func(t report.Test) {
				t.True(one.verdict == "FAIL", "passes")
				t.Contains(one.output, as.prints)
			}
		}
		if found, ok := find(differing, name); ok {
			s.Differs("own tests", name, found.note, fails(found))
		} else if found, ok := find(notOffered, name); ok {
			s.NotOffered("own tests", name, found.note, fails(found))
		} else {
			s.Works("own tests", name, func(t report.Test) { t.True(one.verdict == "PASS", "%s", one.output) })
		}
	}
	report.End()
}
