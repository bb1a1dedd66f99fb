/* SPDX-License-Identifier: Apache-2.0 */
/* The main() of a fuzzer without libFuzzer: plays back all inputs of a folder. */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int played;

/* The memory is as large as the input, so that the sanitizer sees a read past its end. */
static int play(const char *path, const struct stat *file, int type, struct FTW *place)
{
	size_t size = (size_t)file->st_size;
	uint8_t *data;
	int fd;

	(void)place;
	if (type == FTW_D)
		return 0;
	data = malloc(size);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)fprintf(stderr, "%s\n", path);
	if (!data || read(fd, data, size) != file->st_size)
		return -1;
	played += LLVMFuzzerTestOneInput(data, size) == 0;
	free(data);
	return close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 2 || (LLVMFuzzerInitialize && LLVMFuzzerInitialize(&argc, &argv) != 0))
		return EXIT_FAILURE;
	return nftw(argv[1], play, 1, FTW_PHYS) == 0 && played ? EXIT_SUCCESS : EXIT_FAILURE;
}
