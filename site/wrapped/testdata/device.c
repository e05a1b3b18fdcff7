/* Says which path bits the library sets for a rank of the variables that it is given. */
#include "../c/device.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	device_choose();
	puts(getenv("UCX_IB_LID_PATH_BITS") ? getenv("UCX_IB_LID_PATH_BITS") : "-");
	return 0;
}
