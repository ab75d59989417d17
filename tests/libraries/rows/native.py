"""Rows with a library that Ratoon cannot know: some lines of C with a thread that waits for
work."""

from model import row

SOURCE = r"""
#include <pthread.h>
#include <sys/prctl.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static int question, has_question, answer, has_answer, is_started;
static void *work(void *nothing) {
    prctl(PR_SET_NAME, "unheard-of");
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!has_question) pthread_cond_wait(&asked, &lock);
        has_question = 0; answer = 2 * question; has_answer = 1;
        pthread_cond_signal(&done);
    }
}
int twice(int number) {
    pthread_mutex_lock(&lock);
    if (!is_started) { pthread_t thread; pthread_create(&thread, 0, work, 0); is_started = 1; }
    question = number; has_question = 1; has_answer = 0;
    pthread_cond_signal(&asked);
    while (!has_answer) pthread_cond_wait(&done, &lock);
    int found = answer;
    pthread_mutex_unlock(&lock);
    return found;
}
"""

BUILD = f"""
import ctypes, os, subprocess
open('pool.c', 'w').write({SOURCE!r})
subprocess.run(['cc', '-shared', '-fPIC', '-o', 'pool.so', 'pool.c', '-lpthread'], check=True)
lib = ctypes.CDLL(os.path.abspath('pool.so'))
"""

ROWS = (
    row(
        "native pool used",
        BUILD + "print(lib.twice(4))",
        "print(lib.twice(5))",
        told=("unheard-of",),
    ),
    row("native pool loaded only", BUILD + "print(lib.twice is not None)", "print(lib.twice(5))"),
)
