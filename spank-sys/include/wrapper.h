/* The one header that bindgen reads. */
#include <slurm/spank.h>
