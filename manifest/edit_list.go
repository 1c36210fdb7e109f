package manifest

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// editList gives a list other words. Those that stay keep their place and their
// comments.
func (e *yamlEdit) editList(list *yaml.Node, words []string, label string) error {
	old := make([]string, len(list.Content))
	for i, item := range list.Content {
		old[i] = scalar(item)
	}
	i, j := 0, 0
	for _, kept := range append(common(old, words), pair{len(old), len(words)}) {
		if err := e.editGap(list, i, kept.old, words[j:kept.new], label); err != nil {
			return err
		}
		i, j = kept.old+1, kept.new+1
	}
	return nil
}

// A pair is a word's place in the old list and in the new one.
type pair struct{ old, new int }

// common are the words that both lists have, as far as they have them in the
// same order.
func common(old, words []string) []pair {
	var all []pair
	next := 0
	for i, word := range old {
		if j := slices.Index(words[next:], word); j >= 0 {
			all = append(all, pair{i, next + j})
			next += j + 1
		}
	}
	return all
}

// editGap puts words in the place of elements from to before to.
func (e *yamlEdit) editGap(list *yaml.Node, from, to int, words []string, label string) error {
	n := min(to-from, len(words))
	for i, word := range words[:n] {
		if err := e.setScalar(list.Content[from+i], word, label); err != nil {
			return err
		}
	}
	switch {
	case to-from > n:
		return e.removeItems(list, from+n, to-1, 1, label)
	case len(words) == n:
		return nil
	case from+n == 0:
		return e.insertBefore(list, words, label)
	}
	before := list.Content[from+n-1]
	for _, word := range words[n:] {
		write := func(inFlow bool) string { return e.requote(e.raw(before), word, inFlow) }
		if err := e.insertAfter(list, before, write, true, label); err != nil {
			return err
		}
	}
	return nil
}

// insertBefore puts words in front of a list's first element.
func (e *yamlEdit) insertBefore(list *yaml.Node, words []string, label string) error {
	inFlow, err := e.own(list, label)
	if err != nil {
		return err
	}
	first := list.Content[0]
	inFlow = inFlow || list.Style&yaml.FlowStyle != 0
	at, leading := e.offset(first), e.leading(first)
	if at < 0 || !inFlow && !ownLine(leading, true) {
		return fault(first.Line, "%s has no line of its own: edit it by hand", label)
	}
	for _, word := range words {
		text := e.requote(e.raw(first), word, inFlow)
		if inFlow {
			e.splice(at, at, text+", ")
			continue
		}
		e.splice(at, at, text+e.newline()+leading)
	}
	return nil
}
