/* Makes one call to the system fail, or kills the process in its place: loaded before the C library (LD_PRELOAD).

   Counted are the calls that change what is on the disk: those that create, write, rename, link, remove, change rights,
   flush or lock. fail_at(n, e) makes the n-th from now on fail with errno e, or kills with SIGKILL where e is 0; what
   fail_count() gives is how many there were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long counted = 0, target = 0;
static int code = 0;

void fail_at(long n, int e) { counted = 0; target = n; code = e; }
long fail_count(void) { return counted; }

static int fails(void) {
    if (target == 0 || ++counted != target) return 0;
    if (code == 0) { kill(getpid(), SIGKILL); for (;;) pause(); }
    errno = code;
    return 1;
}

#define CALL(type, name, parameters, arguments) \
    type name parameters { \
        static type (*next) parameters = 0; \
        if (!next) next = (type (*) parameters)dlsym(RTLD_NEXT, #name); \
        if (fails()) return (type)-1; \
        return next arguments; \
    }

CALL(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
CALL(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
CALL(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))
CALL(ssize_t, copy_file_range, (int a, off64_t *x, int b, off64_t *y, size_t n, unsigned f), (a, x, b, y, n, f))
CALL(int, fsync, (int fd), (fd))
CALL(int, fdatasync, (int fd), (fd))
CALL(int, ftruncate64, (int fd, off64_t n), (fd, n))
CALL(int, rename, (const char *a, const char *b), (a, b))
CALL(int, renameat, (int x, const char *a, int y, const char *b), (x, a, y, b))
CALL(int, renameat2, (int x, const char *a, int y, const char *b, unsigned f), (x, a, y, b, f))
CALL(int, link, (const char *a, const char *b), (a, b))
CALL(int, linkat, (int x, const char *a, int y, const char *b, int f), (x, a, y, b, f))
CALL(int, symlink, (const char *a, const char *b), (a, b))
CALL(int, unlink, (const char *a), (a))
CALL(int, unlinkat, (int x, const char *a, int f), (x, a, f))
CALL(int, rmdir, (const char *a), (a))
CALL(int, mkdir, (const char *a, mode_t m), (a, m))
CALL(int, mkdirat, (int x, const char *a, mode_t m), (x, a, m))
CALL(int, chmod, (const char *a, mode_t m), (a, m))
CALL(int, fchmod, (int fd, mode_t m), (fd, m))
CALL(int, flock, (int fd, int how), (fd, how))

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        static int (*next)(const char *, int, ...) = 0; \
        if (!next) next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && fails()) return -1; \
        return next(path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
