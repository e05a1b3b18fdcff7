//go:build hdf5

package hdf5

// #include "lib.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// ReadMatrix reads a dataset of two dimensions, row by row, if it has at most so many numbers.
func ReadMatrix(name, dataset string, most int) (numbers []float64, columns int, err error) {
	if _, err := os.Stat(name); err != nil {
		return nil, 0, err
	}
	err = call(name, func() (err error) {
		file, err := hdf5.OpenFile(name, hdf5.F_ACC_RDONLY)
		if err != nil {
			return because("cannot be read", err)
		}
		defer closing(file, &err)
		set, err := file.OpenDataset(dataset)
		if err != nil {
			return fmt.Errorf("no dataset /%s", dataset)
		}
		defer closing(set, &err)
		if columns, numbers, err = room(set, most); err != nil {
			return fmt.Errorf("/%s: %w", dataset, err)
		}
		if C.evb_h5_doubles(C.hid_t(set.ID()), (*C.double)(unsafe.Pointer(&numbers[0]))) < 0 {
			return because("/"+dataset, errRefused)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return numbers, columns, nil
}

func room(set *hdf5.Dataset, most int) (columns int, numbers []float64, err error) {
	t, err := set.Datatype()
	if err != nil {
		return 0, nil, because("type", err)
	}
	defer closing(t, &err)
	if c := t.Class(); c != hdf5.T_INTEGER && c != hdf5.T_FLOAT {
		return 0, nil, errors.New("holds no numbers")
	}
	space := set.Space()
	if space == nil {
		return 0, nil, because("space", errRefused)
	}
	defer closing(space, &err)
	dims, _, err := space.SimpleExtentDims()
	switch {
	case err != nil:
		return 0, nil, because("space", err)
	case len(dims) != 2 || dims[0] == 0 || dims[1] == 0:
		return 0, nil, fmt.Errorf("dimensions %d, must be rows and columns", dims)
	case dims[0] > uint(most) || dims[1] > uint(most)/dims[0]:
		return 0, nil, fmt.Errorf("%d rows of %d numbers, at most %d numbers in all", dims[0], dims[1], most)
	}
	return int(dims[1]), make([]float64, dims[0]*dims[1]), nil
}
