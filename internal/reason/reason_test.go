package reason_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/etcdjoin/etcdjoin/internal/reason"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reasons are all that a join can end for.
var reasons = map[string]error{
	"ErrUnsupported": reason.ErrUnsupported, "ErrSkew": reason.ErrSkew, "ErrHazard": reason.ErrHazard,
	"ErrNameTaken": reason.ErrNameTaken, "ErrOtherName": reason.ErrOtherName, "ErrBadURL": reason.ErrBadURL, "ErrURLTaken": reason.ErrURLTaken,
	"ErrVoter": reason.ErrVoter, "ErrOtherWay": reason.ErrOtherWay, "ErrDataLost": reason.ErrDataLost, "ErrDataDamaged": reason.ErrDataDamaged,
	"ErrForeignData": reason.ErrForeignData, "ErrRemoved": reason.ErrRemoved, "ErrAddress": reason.ErrAddress, "ErrDiverged": reason.ErrDiverged,
	"ErrDowngrading": reason.ErrDowngrading, "ErrQuorumAtRisk": reason.ErrQuorumAtRisk, "ErrNoQuorum": reason.ErrNoQuorum,
	"ErrUnreachable": reason.ErrUnreachable, "ErrSlotTaken": reason.ErrSlotTaken, "ErrStalled": reason.ErrStalled, "ErrNotLive": reason.ErrNotLive,
	"ErrDenied": reason.ErrDenied, "ErrTLS": reason.ErrTLS, "ErrCorrupt": reason.ErrCorrupt, "ErrWrongCluster": reason.ErrWrongCluster,
	"ErrGone": reason.ErrGone, "ErrRoleDisagrees": reason.ErrRoleDisagrees,
}

// Each reason has words of its own and says what to do.
func TestEveryReasonHasAHint(t *testing.T) {
	exported := exportedReasons(t)
	assert.Greater(t, len(exported), 20)
	for _, name := range exported {
		assert.Contains(t, reasons, name, "an exported reason without a row here")
	}
	texts := map[string]string{}
	for name, err := range reasons {
		assert.Contains(t, exported, name)
		assert.NotEmpty(t, reason.Hint(err), name)
		assert.Equal(t, reason.Hint(err), reason.Hint(fmt.Errorf("wrapped: %w: voter 2", err)), name)
		assert.Empty(t, texts[err.Error()], "%s says what %s says", name, texts[err.Error()])
		texts[err.Error()] = name
		for other, o := range reasons {
			assert.Equal(t, name == other, errors.Is(err, o), "%s is %s", name, other)
		}
	}
	assert.Empty(t, reason.Hint(errors.New("something else")))
	assert.Empty(t, reason.Hint(nil))
}

func exportedReasons(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				if strings.HasPrefix(name.Name, "Err") {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
