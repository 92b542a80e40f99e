// The tests of the Azure Cosmos DB client for Go that its authors run against Microsoft's emulator. install.sh compiles
// them with the address of the server in place of the emulator's.
package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"

	"octavo.test/clients/report"
)

// What these tests expect of the emulator that Octavo does otherwise.
var differing = map[string]string{
	"TestAAD": "tokens of Microsoft Entra ID are refused (401)",
	"TestAAD_Emulator_UsesAccountScope_WhenNoAudienceProvided":       "tokens of Microsoft Entra ID are refused (401)",
	"TestContainerVectorSearch":                                      "vector policies are refused (400)",
	"TestContainerFullTextSearch":                                    "full-text policies are refused (400)",
	"TestGlobalEndpointManagerEmulator":                              "the test expects the region, address and consistency of the emulator",
	"TestGlobalEndpointManagerPolicyEmulator":                        "the test expects the region of the emulator",
	"TestItemIdEncodingRoutingGW":                                    "ids that end in a space can be read; the test expects 401",
	"TestCrossPartitionQuery":                                        "without ORDER BY, items come in another order",
	"TestCrossPartitionQueryRejectedWhenEnableCrossPartitionIsFalse": "such queries are answered",
	"TestCrossPartitionQueryFailsIfGatewayCannotSatisfyRequest":      "such queries are answered",
}

// Of another port of the emulator.
const left = "TestItemIdEncodingComputeGW"

func main() {
	program, tests := os.Args[1], os.Args[2:]
	s := report.Suite{Client: "azcosmos", Version: "1.5.0", API: "cosmos", Mode: "own tests"}
	for _, name := range tests {
		if name == left {
			continue
		}
		run := func() (bool, string) {
			command := exec.Command(program, "-test.run", "^"+name+"$", "-test.v")
			command.Env = append(os.Environ(), "EMULATOR=true", "SSL_CERT_FILE="+os.Getenv("OCTAVO_CA"))
			output, err := command.CombinedOutput()
			passed := err == nil && bytes.Contains(output, []byte("--- PASS: "+name+" "))
			return passed, strings.TrimSpace(string(output))
		}
		if note, differs := differing[name]; differs {
			s.Differs("emulator tests", name, note, func(t report.Test) {
				passed, _ := run()
				t.True(!passed, "passes")
			})
			continue
		}
		s.Works("emulator tests", name, func(t report.Test) {
			passed, output := run()
			t.True(passed, "%s", output)
		})
	}
	report.End()
}
