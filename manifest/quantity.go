package manifest

import (
	"math/big"
	"regexp"
	"strings"
)

// quantity is Kubernetes' notation for amounts: a number, then a decimal or a
// binary suffix, or an exponent.
var quantity = regexp.MustCompile(`^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|u|n|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei|[eE][-+]?[0-9]{1,3})?$`)

// amount is the number that a quantity stands for, nil if it is none.
func amount(text string) *big.Rat {
	parts := quantity.FindStringSubmatch(text)
	if parts == nil {
		return nil
	}
	suffix := parts[2]
	if len(suffix) > 1 && strings.ContainsAny(suffix[:1], "eE") && suffix[1] != 'i' {
		n, _ := new(big.Rat).SetString(parts[1] + suffix)
		return n
	}
	n, _ := new(big.Rat).SetString(parts[1])
	return n.Mul(n, scale(suffix))
}

func scale(suffix string) *big.Rat {
	one := new(big.Rat).SetInt64(1)
	if small := strings.Index("mun", suffix); suffix != "" && small >= 0 {
		return one.SetFrac(big.NewInt(1), power(1000, small+1))
	}
	big1 := strings.Index("kMGTPE", strings.ToUpper(strings.TrimSuffix(suffix, "i")))
	if suffix == "k" || strings.HasPrefix(suffix, "K") {
		big1 = 0
	}
	if suffix == "" || big1 < 0 {
		return one
	}
	base := int64(1000)
	if strings.HasSuffix(suffix, "i") {
		base = 1024
	}
	return one.SetInt(power(base, big1+1))
}

func power(base int64, n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(n)), nil)
}
