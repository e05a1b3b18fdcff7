package results

import "fmt"

// A RateUnit is a unit in which rates are printed.
type RateUnit struct {
	Name string
	Size float64 // bit/s
}

// RateUnitOf returns the unit in which the largest of some rates, in bit/s, has at least one
// digit before the point, when it is rounded to three.
func RateUnitOf(most float64) RateUnit {
	for _, u := range []RateUnit{{"Tbit/s", 1e12}, {"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}} {
		if most >= 0.9995*u.Size {
			return u
		}
	}
	return RateUnit{"bit/s", 1}
}

// GoodputUnit is the unit for what the servers of some cases receive on average; where
// nothing was received it is a gigabit.
func GoodputUnit(cases []Case) RateUnit {
	most := 0.0
	for _, c := range cases {
		most = max(most, c.GoodputBitPerSec.Mean)
	}
	if most == 0 {
		most = 1e9
	}
	return RateUnitOf(most)
}

func rateText(bit float64) string {
	u := RateUnitOf(bit)
	return fmt.Sprintf("%.3g %s", bit/u.Size, u.Name)
}
