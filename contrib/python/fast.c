/* SPDX-License-Identifier: MIT */
/* datasetfs._fast: what datasetfs/plain.py does for every file and every batch, in C, with the interpreter's lock
 * released once a call. It uses the limited interface of CPython 3.11, so one build does for every later one. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "datasetfs/datasetfs.h"

#define SUFFIXES 32 /* at most */
#define SPARE	 8
#define KEPT	 (16 << 20) /* bytes of results, up to which an arena is used again */

/* Memory of the library; every view holds a piece, and every piece the arena. */
struct arena {
	PyObject_HEAD
	struct dsfs_arena *memory;
	uint64_t used;
};

struct piece {
	PyObject_HEAD
	PyObject *arena;
	void *bytes;
	Py_ssize_t size;
};

static PyTypeObject *arena_type, *piece_type;

/* New memory costs a page fault for each 4 KiB that are read into it. The interpreter's lock guards the list. */
static struct dsfs_arena *spare[SPARE];
static int spare_count;

static void arena_dealloc(PyObject *self)
{
	struct arena *arena = (struct arena *)self;
	PyTypeObject *type = Py_TYPE(self);

	if (arena->memory && arena->used <= KEPT && spare_count < SPARE)
		spare[spare_count++] = arena->memory;
	else
		dsfs_arena_free(arena->memory);
	PyObject_Free(self);
	Py_DECREF(type);
}

static void piece_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_DECREF(((struct piece *)self)->arena);
	PyObject_Free(self);
	Py_DECREF(type);
}

static int piece_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	struct piece *piece = (struct piece *)self;

	return PyBuffer_FillInfo(view, self, piece->bytes, piece->size, 1, flags);
}

static PyType_Spec arena_spec = {
	.name = "datasetfs._fast.Arena",
	.basicsize = sizeof(struct arena),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = (PyType_Slot[]){ { Py_tp_dealloc, arena_dealloc }, { 0, NULL } },
};

static PyType_Spec piece_spec = {
	.name = "datasetfs._fast.Piece",
	.basicsize = sizeof(struct piece),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = (PyType_Slot[]){ { Py_tp_dealloc, piece_dealloc },
				  { Py_bf_getbuffer, piece_getbuffer },
				  { 0, NULL } },
};

/* The exception for the call of this thread that just failed. */
static PyObject *failed(int64_t code)
{
	const char *reason = dsfs_reason();
	PyObject *arguments = Py_BuildValue("iN", (int)-code, PyUnicode_DecodeFSDefault(reason ? reason : ""));

	if (arguments)
		PyErr_SetObject(PyExc_OSError, arguments);
	Py_XDECREF(arguments);
	return NULL;
}

static PyObject *fast_read(PyObject *module, PyObject *arguments)
{
	PyObject *address, *path;
	struct dsfs *fs;
	void *contents;
	ssize_t size;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OS", &address, &path) || !(fs = PyLong_AsVoidPtr(address)))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	size = dsfs_refresh(fs);
	if (size >= 0)
		size = dsfs_read_file(fs, PyBytes_AsString(path), &contents);
	Py_END_ALLOW_THREADS
	if (size < 0)
		return failed(size);
	PyObject *bytes = PyBytes_FromStringAndSize(contents, size);

	free(contents);
	return bytes;
}

static PyObject *list_of_numbers(const int64_t *numbers, Py_ssize_t count)
{
	PyObject *list = PyList_New(count);

	for (Py_ssize_t i = 0; list && i < count; i++)
		PyList_SetItem(list, i, PyLong_FromLongLong(numbers[i]));
	return list;
}

static PyObject *fast_lookup(PyObject *module, PyObject *arguments)
{
	PyObject *address, *names, *list = NULL;
	struct dsfs *fs;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO!", &address, &PyList_Type, &names) || !(fs = PyLong_AsVoidPtr(address)))
		return NULL;
	Py_ssize_t count = PyList_Size(names);
	const char **paths = calloc(count + 1, sizeof(*paths));
	int64_t *ids = calloc(count + 1, sizeof(*ids));

	if (!paths || !ids)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; !PyErr_Occurred() && i < count; i++)
		paths[i] = PyBytes_AsString(PyList_GetItem(names, i));
	if (!PyErr_Occurred()) {
		Py_BEGIN_ALLOW_THREADS
		dsfs_lookup(fs, paths, count, ids);
		Py_END_ALLOW_THREADS
		list = list_of_numbers(ids, count);
	}
	free(paths);
	free(ids);
	return list;
}

/* ids: numbers of places first. Returns how many of them were replaced, or a negative errno. */
static int64_t look_up_places(struct dsfs *fs, int64_t *ids, Py_ssize_t count)
{
	for (Py_ssize_t i = 0; i < count; i++) {
		int rc = dsfs_placed(fs, ids[i], (uint64_t *)&ids[i], 1);

		if (rc != 1)
			return rc < 0 ? rc : i;
	}
	return count;
}

static PyObject *fast_placed(PyObject *module, PyObject *arguments)
{
	PyObject *address, *numbers, *list = NULL;
	struct dsfs *fs;
	int64_t found;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO!", &address, &PyList_Type, &numbers) || !(fs = PyLong_AsVoidPtr(address)))
		return NULL;
	Py_ssize_t count = PyList_Size(numbers);
	int64_t *ids = calloc(count + 1, sizeof(*ids));

	if (!ids)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; !PyErr_Occurred() && i < count; i++)
		ids[i] = PyLong_AsLongLong(PyList_GetItem(numbers, i));
	if (!PyErr_Occurred()) {
		Py_BEGIN_ALLOW_THREADS
		found = look_up_places(fs, ids, count);
		Py_END_ALLOW_THREADS
		list = found < 0 ? failed(found) : list_of_numbers(ids, found);
	}
	free(ids);
	return list;
}

static PyObject *view_of(PyObject *arena, const struct dsfs_read *read)
{
	struct piece *piece = PyObject_New(struct piece, piece_type);

	if (!piece)
		return NULL;
	piece->arena = Py_NewRef(arena);
	piece->bytes = read->buffer ? read->buffer : "";
	piece->size = read->result;
	((struct arena *)arena)->used += read->result;
	PyObject *view = PyMemoryView_FromObject((PyObject *)piece);

	Py_DECREF(piece);
	return view;
}

static PyObject *list_of_views(PyObject *arena, const struct dsfs_read *reads, Py_ssize_t count)
{
	PyObject *list = PyList_New(count);

	for (Py_ssize_t i = 0; list && i < count; i++) {
		PyObject *item = reads[i].result < 0 ? PyLong_FromLongLong(reads[i].result)
						     : view_of(arena, &reads[i]);

		if (!item)
			Py_CLEAR(list);
		else
			PyList_SetItem(list, i, item);
	}
	return list;
}

static PyObject *arena_new(void)
{
	struct arena *arena = PyObject_New(struct arena, arena_type);

	if (!arena)
		return NULL;
	arena->memory = NULL;
	arena->used = 0;
	if (spare_count) {
		arena->memory = spare[--spare_count];
		dsfs_arena_reset(arena->memory);
		return (PyObject *)arena;
	}
	int rc = dsfs_arena_new(&arena->memory);

	if (rc >= 0)
		return (PyObject *)arena;
	failed(rc);
	Py_DECREF(arena);
	return NULL;
}

/* ranges: a list of (offset, size), as long as that of ids, or None for whole files. */
static void set_reads(struct dsfs_read *reads, PyObject *ids, PyObject *ranges, Py_ssize_t count)
{
	for (Py_ssize_t i = 0; !PyErr_Occurred() && i < count; i++) {
		unsigned long long offset = 0, size = UINT64_MAX;

		if (ranges != Py_None && !PyArg_ParseTuple(PyList_GetItem(ranges, i), "KK", &offset, &size))
			return;
		reads[i].id = PyLong_AsUnsignedLongLongMask(PyList_GetItem(ids, i));
		reads[i].offset = offset;
		reads[i].size = size;
	}
}

static PyObject *fast_read_many(PyObject *module, PyObject *arguments)
{
	PyObject *address, *ids, *ranges = Py_None, *list = NULL;
	struct dsfs *fs;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO!|O", &address, &PyList_Type, &ids, &ranges) ||
	    !(fs = PyLong_AsVoidPtr(address)))
		return NULL;
	Py_ssize_t count = PyList_Size(ids);
	struct dsfs_read *reads = calloc(count + 1, sizeof(*reads));
	PyObject *arena = arena_new();

	if (!reads && arena)
		PyErr_NoMemory();
	set_reads(reads, ids, ranges, count);
	if (!PyErr_Occurred()) {
		struct dsfs_arena *memory = ((struct arena *)arena)->memory;

		Py_BEGIN_ALLOW_THREADS
		dsfs_read_many(fs, reads, count, memory);
		Py_END_ALLOW_THREADS
		list = list_of_views(arena, reads, count);
	}
	free(reads);
	Py_XDECREF(arena);
	return list;
}

/* One directory that is scanned. Other entries are few, and each takes the interpreter's lock. */
struct scan {
	uint64_t first, count;
	const char *suffixes[SUFFIXES];
	size_t lengths[SUFFIXES];
	size_t suffix_count;
	bool is_any;
	char *bits;
	PyObject *others;
};

static bool ends_with(const struct dsfs_dirent *entry, const char *suffix, size_t length)
{
	const char *end = entry->name + entry->length - length;

	if (entry->length < length)
		return false;
	for (size_t i = 0; i < length; i++)
		if ((end[i] >= 'A' && end[i] <= 'Z' ? end[i] | 32 : end[i]) != suffix[i])
			return false;
	return true;
}

static bool is_wanted(const struct scan *scan, const struct dsfs_dirent *entry)
{
	for (size_t i = 0; i < scan->suffix_count; i++)
		if (ends_with(entry, scan->suffixes[i], scan->lengths[i]))
			return true;
	return scan->is_any;
}

static int add_other(struct scan *scan, const struct dsfs_dirent *entry)
{
	PyGILState_STATE state = PyGILState_Ensure();
	PyObject *other = Py_BuildValue("y#KI", entry->name, (Py_ssize_t)entry->length,
					(unsigned long long)entry->id, entry->type);
	int rc = other ? PyList_Append(scan->others, other) : -1;

	Py_XDECREF(other);
	PyGILState_Release(state);
	return rc;
}

static int scan_each(void *argument, const struct dsfs_dirent *entry)
{
	struct scan *scan = argument;
	uint64_t number = entry->id - scan->first;

	if (entry->type != DT_REG || number >= scan->count)
		return add_other(scan, entry);
	if (is_wanted(scan, entry))
		scan->bits[number >> 3] |= 1 << (number & 7);
	return 0;
}

/* suffixes: a tuple of bytes, which the caller keeps, or None. */
static int scan_suffixes(struct scan *scan, PyObject *suffixes)
{
	scan->is_any = suffixes == Py_None;
	if (scan->is_any)
		return 0;
	Py_ssize_t count = PyTuple_Size(suffixes);

	if (count < 0 || count > SUFFIXES) {
		PyErr_Format(PyExc_ValueError, "expected a tuple of at most %d suffixes", SUFFIXES);
		return -1;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		char *suffix;
		Py_ssize_t length;

		if (PyBytes_AsStringAndSize(PyTuple_GetItem(suffixes, i), &suffix, &length) < 0)
			return -1;
		scan->suffixes[i] = suffix;
		scan->lengths[i] = length;
	}
	scan->suffix_count = count;
	return 0;
}

static PyObject *scan_run(struct scan *scan, struct dsfs *fs, uint64_t directory)
{
	PyObject *bits = PyByteArray_FromStringAndSize(NULL, (scan->count + 63) / 64 * 8);
	int rc;

	scan->others = PyList_New(0);
	if (!bits || !scan->others)
		goto failed;
	scan->bits = PyByteArray_AsString(bits);
	memset(scan->bits, 0, PyByteArray_Size(bits));
	Py_BEGIN_ALLOW_THREADS
	rc = dsfs_list(fs, directory, scan_each, scan);
	Py_END_ALLOW_THREADS
	if (rc < 0 && !PyErr_Occurred())
		failed(rc);
	if (!PyErr_Occurred())
		return Py_BuildValue("NN", bits, scan->others);
failed:
	Py_XDECREF(bits);
	Py_XDECREF(scan->others);
	return NULL;
}

static PyObject *fast_scan(PyObject *module, PyObject *arguments)
{
	unsigned long long directory, first, count;
	PyObject *address, *suffixes;
	struct dsfs *fs;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OKKKO", &address, &directory, &first, &count, &suffixes) ||
	    !(fs = PyLong_AsVoidPtr(address)))
		return NULL;
	struct scan scan = { .first = first, .count = count };

	if (scan_suffixes(&scan, suffixes) < 0)
		return NULL;
	return scan_run(&scan, fs, directory);
}

static PyMethodDef methods[] = {
	{ "read", fast_read, METH_VARARGS, NULL },
	{ "lookup", fast_lookup, METH_VARARGS, NULL },
	{ "placed", fast_placed, METH_VARARGS, NULL },
	{ "read_many", fast_read_many, METH_VARARGS, NULL },
	{ "scan", fast_scan, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module_def = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "datasetfs._fast",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__fast(void);
PyMODINIT_FUNC PyInit__fast(void)
{
	arena_type = (PyTypeObject *)PyType_FromSpec(&arena_spec);
	piece_type = (PyTypeObject *)PyType_FromSpec(&piece_spec);
	return arena_type && piece_type ? PyModule_Create(&module_def) : NULL;
}
