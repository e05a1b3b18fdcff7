// Package lists makes slices and groups from others, for what package slices leaves out.
package lists

// Map returns of(x) for each x of all, in their order; nil for none.
func Map[T, U any](all []T, of func(T) U) []U {
	if len(all) == 0 {
		return nil
	}
	return Tabulate(len(all), func(i int) U { return of(all[i]) })
}

// Tabulate returns of(0), of(1), …, of(n-1).
func Tabulate[T any](n int, of func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = of(i)
	}
	return out
}

// Range returns 0, 1, …, n-1.
func Range[T ~int | ~int32](n int) []T { return Tabulate(n, func(i int) T { return T(i) }) }

// By returns groups of all by a key, each in their order.
func By[T any, K comparable](all []T, key func(T) K) map[K][]T {
	out := map[K][]T{}
	for _, x := range all {
		k := key(x)
		out[k] = append(out[k], x)
	}
	return out
}

// Groups is By in the order of the first of each group.
func Groups[T any, K comparable](all []T, key func(T) K) (out [][]T) {
	at := map[K]int{}
	for _, x := range all {
		k := key(x)
		i, ok := at[k]
		if !ok {
			i, at[k], out = len(out), len(out), append(out, nil)
		}
		out[i] = append(out[i], x)
	}
	return out
}

// Filter returns those of all that are so, in their order; nil for none.
func Filter[T any](all []T, so func(T) bool) (out []T) {
	for _, x := range all {
		if so(x) {
			out = append(out, x)
		}
	}
	return out
}

// CountIf returns how many of all are so.
func CountIf[T any](all []T, so func(T) bool) (n int) {
	for _, x := range all {
		if so(x) {
			n++
		}
	}
	return n
}

// Sum returns of(x) added up over all.
func Sum[T any, N ~int | ~int64 | ~uint64 | ~float64](all []T, of func(T) N) (sum N) {
	for _, x := range all {
		sum += of(x)
	}
	return sum
}

// MaxOf returns the largest of(x), 0 where all is empty.
func MaxOf[T any, N ~int | ~float64 | ~int64](all []T, of func(T) N) (most N) {
	for i, x := range all {
		if n := of(x); i == 0 || n > most {
			most = n
		}
	}
	return most
}
