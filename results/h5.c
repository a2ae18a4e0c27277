#include "results/h5.h"

#include "results/disk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK_BYTES = 1 << 17, GZIP_LEVEL = 1, IMAGE_STEP = 1 << 16 };

/* ---- types ---- */

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    return type;
}

static hid_t bool_type(void)
{
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    H5Tenum_insert(type, "FALSE", &(int8_t){0});
    H5Tenum_insert(type, "TRUE", &(int8_t){1});
    return type;
}

static hid_t field_type(const nas_h5_field *field)
{
    switch (field->kind) {
    case NAS_H5_TEXT:
        return text_type(field->size);
    case NAS_H5_BOOL:
        return bool_type();
    case NAS_H5_INT64:
        return H5Tcopy(H5T_STD_I64LE);
    case NAS_H5_REAL:
        return H5Tcopy(H5T_IEEE_F64LE);
    }
    return -1;
}

static size_t row_size(const nas_h5_field *field, size_t n)
{
    return n ? field[n - 1].offset + field[n - 1].size : 0;
}

static hid_t row_type(const nas_h5_field *field, size_t n)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, row_size(field, n));
    for (size_t i = 0; i < n; i++) {
        hid_t member = field_type(&field[i]);
        H5Tinsert(type, field[i].name, field[i].offset, member);
        H5Tclose(member);
    }
    return type;
}

size_t nas_h5_field_add(nas_h5_field *field, size_t *n, const char *name, nas_h5_kind kind,
                        size_t size)
{
    if (kind != NAS_H5_TEXT)
        size = kind == NAS_H5_BOOL ? 1 : 8;
    field[*n] = (nas_h5_field){name, kind, size ? size : 1, row_size(field, *n)};
    ++*n;
    return row_size(field, *n);
}

void nas_h5_field_text(const char *row, const nas_h5_field *field, char *text, size_t size)
{
    size_t n = field->size < size - 1 ? field->size : size - 1;
    memcpy(text, row + field->offset, n);
    text[n] = '\0';
}

/* ---- checksum ---- */

static const char SEAL[] = "naslmcrc"; /* then CRC-32 of all before, as 8 hex digits */
enum { SEAL_BYTES = 16 };

static void print_seal(const char *data, size_t size, char seal[SEAL_BYTES + 1])
{
    snprintf(seal, SEAL_BYTES + 1, "%s%08lx", SEAL, crc32_z(0, (const Bytef *)data, size));
}

/* Takes the seal off. */
static nas_status check_seal(nas_bytes *bytes, const char *path, nas_err *err)
{
    char seal[SEAL_BYTES + 1];
    const char *end = bytes->data + bytes->size - SEAL_BYTES;
    if (bytes->size < SEAL_BYTES || memcmp(end, SEAL, sizeof SEAL - 1))
        return nas_fail(err, NAS_FAILED,
                        "'%s' is truncated, or was changed by another program: it does not end "
                        "with a checksum",
                        path);
    bytes->size -= SEAL_BYTES;
    print_seal(bytes->data, bytes->size, seal);
    if (memcmp(end, seal, SEAL_BYTES))
        return nas_fail(err, NAS_FAILED, "'%s' is damaged: its checksum differs", path);
    return NAS_OK;
}

/* ---- writing ---- */

static hid_t memory_access(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, IMAGE_STEP, 0);
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
    return access;
}

hid_t nas_h5_create(void)
{
    hid_t access = memory_access(), create = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(create, 0);
    hid_t file = H5Fcreate("memory", H5F_ACC_TRUNC, create, access);
    H5Pclose(create);
    H5Pclose(access);
    assert(file >= 0);
    return file;
}

void nas_h5_close_into(hid_t file, nas_bytes *bytes)
{
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    ssize_t size = H5Fget_file_image(file, NULL, 0);
    assert(size > 0);
    bytes->data = nas_grow(bytes->data, &bytes->cap, bytes->size + (size_t)size + 1, 1);
    H5Fget_file_image(file, bytes->data + bytes->size, (size_t)size);
    char seal[SEAL_BYTES + 1];
    print_seal(bytes->data + bytes->size, (size_t)size, seal);
    bytes->size += (size_t)size;
    nas_bytes_put(bytes, seal, SEAL_BYTES);
    H5Fclose(file);
}

/* Creates a dataset without times; chunk 0 means contiguous. Closes type and space. */
static void put_dataset(hid_t file, const char *name, hid_t type, hid_t space, hsize_t chunk,
                        const void *data)
{
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(create, 0);
    if (chunk) {
        H5Pset_chunk(create, 1, &chunk);
        H5Pset_shuffle(create);
        H5Pset_deflate(create, GZIP_LEVEL);
    }
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    herr_t wrote = set < 0 ? -1 : H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    assert(wrote >= 0);
    (void)wrote;
    H5Dclose(set);
    H5Pclose(create);
    H5Sclose(space);
    H5Tclose(type);
}

/* A chunk never holds more than CHUNK_BYTES nor more rows than there are. */
static void put_list(hid_t file, const char *name, hid_t type, const void *rows, hsize_t n)
{
    hsize_t chunk = CHUNK_BYTES / H5Tget_size(type), most = H5S_UNLIMITED;
    chunk = chunk < n ? chunk : n;
    put_dataset(file, name, type, H5Screate_simple(1, &n, &most), chunk ? chunk : 1, rows);
}

void nas_h5_put_rows(hid_t file, const char *name, const nas_h5_field *field, size_t n_field,
                     const void *rows, size_t n)
{
    put_list(file, name, row_type(field, n_field), rows, n);
}

void nas_h5_put_ids(hid_t file, const char *name, const int64_t *ids, size_t n)
{
    put_list(file, name, H5Tcopy(H5T_STD_I64LE), ids, n);
}

void nas_h5_put_text(hid_t file, const char *name, const char *text)
{
    size_t size = strlen(text);
    put_dataset(file, name, text_type(size ? size : 1), H5Screate(H5S_SCALAR), 0, text);
}

/* Closes type and space. */
static void set_attribute(hid_t file, const char *name, hid_t type, hid_t space, const void *data)
{
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t wrote = attribute < 0 ? -1 : H5Awrite(attribute, type, data);
    assert(wrote >= 0);
    (void)wrote;
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

void nas_h5_set_text(hid_t file, const char *name, const char *text)
{
    hid_t type = text_type(H5T_VARIABLE);
    H5Tset_strpad(type, H5T_STR_NULLTERM);
    set_attribute(file, name, type, H5Screate(H5S_SCALAR), &text);
}

void nas_h5_set_int(hid_t file, const char *name, int64_t value)
{
    set_attribute(file, name, H5Tcopy(H5T_STD_I64LE), H5Screate(H5S_SCALAR), &value);
}

void nas_h5_set_uint(hid_t file, const char *name, uint64_t value)
{
    set_attribute(file, name, H5Tcopy(H5T_STD_U64LE), H5Screate(H5S_SCALAR), &value);
}

void nas_h5_set_reals(hid_t file, const char *name, const double *value, size_t n)
{
    hsize_t count = n;
    set_attribute(file, name, H5Tcopy(H5T_IEEE_F64LE), H5Screate_simple(1, &count, NULL), value);
}

/* ---- reading ---- */

static nas_status check_format(hid_t file, const char *path, const char *format, int64_t major,
                               nas_err *err)
{
    nas_bytes found = {0};
    int64_t version = 0;
    nas_status status = NAS_OK;
    if (!nas_h5_text(file, "format", &found) || strcmp(found.data, format))
        status = nas_fail(err, NAS_FAILED, "'%s' is HDF5 but not a %s file", path, format);
    else if (!nas_h5_int(file, "schema_major", &version) || version < 1)
        status = nas_fail(err, NAS_FAILED, "'%s' is damaged: no schema version", path);
    else if (version > major)
        status =
            nas_fail(err, NAS_FAILED, "'%s' has schema %lld, newer than this program knows (%lld)",
                     path, (long long)version, (long long)major);
    nas_bytes_clear(&found);
    return status;
}

hid_t nas_h5_open(const char *path, const char *format, int64_t major, nas_err *err)
{
    static const char signature[] = "\211HDF\r\n\032\n";
    nas_bytes bytes = {0};
    nas_status status = nas_disk_read(path, &bytes, err);
    hid_t file = -1;
    if (status == NAS_EMPTY) {
        nas_fail(err, NAS_FAILED, "'%s' does not exist", path);
    } else if (!status && (bytes.size < 8 || memcmp(bytes.data, signature, 8))) {
        nas_fail(err, NAS_FAILED, "'%s' is not an HDF5 file", path);
    } else if (!status && check_seal(&bytes, path, err) == NAS_OK) {
        hid_t access = memory_access();
        H5Pset_file_image(access, bytes.data, bytes.size);
        file = H5Fopen("memory", H5F_ACC_RDONLY, access);
        H5Pclose(access);
        if (file < 0)
            nas_fail(err, NAS_FAILED, "'%s' is truncated or damaged", path);
        else if (check_format(file, path, format, major, err)) {
            H5Fclose(file);
            file = -1;
        }
    }
    nas_bytes_clear(&bytes);
    return file;
}

void nas_h5_close(hid_t file)
{
    H5Fclose(file);
}

bool nas_h5_get_text(hid_t file, const char *name, nas_bytes *text)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0)
        return false;
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    bool good = H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type) &&
                H5Sget_simple_extent_npoints(space) == 1;
    size_t size = H5Tget_size(type);
    good = good && size <= H5Dget_storage_size(set); /* contiguous: what is there is stored */
    if (good) {
        char *buffer = nas_zalloc(size + 1, 1);
        good = H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer) >= 0;
        nas_bytes_puts(text, buffer);
        free(buffer);
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(set);
    return good;
}

/* Opens the attribute if it has n values (0: any number) of that class; else negative. */
static hid_t open_attribute(hid_t file, const char *name, H5T_class_t class, hssize_t n)
{
    hid_t attribute = H5Aexists(file, name) > 0 ? H5Aopen(file, name, H5P_DEFAULT) : -1;
    if (attribute < 0)
        return -1;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    bool good = H5Tget_class(type) == class &&
                (n == 0 || H5Sget_simple_extent_npoints(space) == n) &&
                (class != H5T_STRING || H5Tis_variable_str(type) > 0);
    H5Sclose(space);
    H5Tclose(type);
    if (good)
        return attribute;
    H5Aclose(attribute);
    return -1;
}

bool nas_h5_text(hid_t file, const char *name, nas_bytes *text)
{
    hid_t attribute = open_attribute(file, name, H5T_STRING, 1), type = text_type(H5T_VARIABLE);
    char *value = NULL;
    bool good = attribute >= 0 && H5Aread(attribute, type, &value) >= 0 && value;
    if (good)
        nas_bytes_puts(text, value);
    H5free_memory(value);
    H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return good;
}

static bool read_number(hid_t file, const char *name, H5T_class_t class, hid_t type, void *value)
{
    hid_t attribute = open_attribute(file, name, class, 1);
    bool good = attribute >= 0 && H5Aread(attribute, type, value) >= 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    return good;
}

bool nas_h5_int(hid_t file, const char *name, int64_t *value)
{
    return read_number(file, name, H5T_INTEGER, H5T_NATIVE_INT64, value);
}

bool nas_h5_uint(hid_t file, const char *name, uint64_t *value)
{
    return read_number(file, name, H5T_INTEGER, H5T_NATIVE_UINT64, value);
}

size_t nas_h5_reals(hid_t file, const char *name, double *value, size_t most)
{
    hid_t attribute = open_attribute(file, name, H5T_FLOAT, 0);
    if (attribute < 0)
        return 0;
    hid_t space = H5Aget_space(attribute);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    bool good = n > 0 && (size_t)n <= most && H5Aread(attribute, H5T_NATIVE_DOUBLE, value) >= 0;
    H5Sclose(space);
    H5Aclose(attribute);
    return good ? (size_t)n : 0;
}

/* The type of a column of a compound; negative when there is none. */
static hid_t member_type(hid_t type, const char *column)
{
    int index = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_member_index(type, column) : -1;
    return index < 0 ? -1 : H5Tget_member_type(type, (unsigned)index);
}

size_t nas_h5_width(hid_t file, const char *name, const char *column)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0)
        return 0;
    hid_t type = H5Dget_type(set), member = member_type(type, column);
    size_t size = member >= 0 && H5Tget_class(member) == H5T_STRING ? H5Tget_size(member) : 0;
    if (member >= 0)
        H5Tclose(member);
    H5Tclose(type);
    H5Dclose(set);
    return size;
}

static bool has_fields(hid_t type, const nas_h5_field *field, size_t n)
{
    static const H5T_class_t class_of[] = {H5T_STRING, H5T_ENUM, H5T_INTEGER, H5T_FLOAT};
    for (size_t i = 0; i < n; i++) {
        hid_t member = member_type(type, field[i].name);
        bool good = member >= 0 && H5Tget_class(member) == class_of[field[i].kind];
        if (member >= 0)
            H5Tclose(member);
        if (!good)
            return false;
    }
    return true;
}

/* Rows of a list that the file can really hold: gzip packs at most a thousandfold. */
static bool count_rows(hid_t file, hid_t set, size_t size, size_t *n)
{
    hid_t space = H5Dget_space(set);
    hssize_t count =
        H5Sget_simple_extent_ndims(space) == 1 ? H5Sget_simple_extent_npoints(space) : -1;
    H5Sclose(space);
    hsize_t bytes = 0;
    H5Fget_filesize(file, &bytes);
    *n = count < 0 ? 0 : (size_t)count;
    return count >= 0 && (hsize_t)count <= (bytes * 2000 + (1 << 20)) / size;
}

bool nas_h5_get_rows(hid_t file, const char *name, const nas_h5_field *field, size_t n_field,
                     void **rows, size_t *n)
{
    *rows = NULL;
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0)
        return false;
    hid_t stored = H5Dget_type(set), type = row_type(field, n_field);
    size_t size = row_size(field, n_field);
    bool good = has_fields(stored, field, n_field) && count_rows(file, set, size, n);
    if (good) {
        *rows = nas_zalloc(*n + 1, size);
        good = H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *rows) >= 0;
    }
    if (!good) {
        free(*rows);
        *rows = NULL;
    }
    H5Tclose(type);
    H5Tclose(stored);
    H5Dclose(set);
    return good;
}
